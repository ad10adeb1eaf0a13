/** What the command line prints: lists and their pages, single results, and refusals. */

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultPriceTableJson } from '@gateway/billing';
import type { Command } from 'commander';
import { EXAMPLES } from '../../src/cli/examples.js';
import { createJsonPages } from '../../src/cli/json-pages.js';
import { createProgram } from '../../src/cli/program.js';
import { csvPages, listCsv } from '../../src/operator/operations/list-csv.js';
import { INHERITED, MAIN, gatewayCommand } from '../support/gateway-process.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { untilSteady } from '../support/steady-time.js';

const ADMIN_TOKEN = 'admin-token-of-the-tests';
/** It begins and clears a line. A pattern may not have the character that both begin with. */
const STOPWATCH = new RegExp(`\r${'\u001b'}\\[K(?:\\d+ s)?`, 'g');

let gateway: TestGateway;
beforeAll(async () => {
  await untilSteady('day');
  gateway = await startTestGateway({ env: { ADMIN_TOKEN } });
  await gateway.createKey({ name: 'first' });
  const { apiKey } = await gateway.createKey({ name: 'second' });
  expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
});
afterAll(() => gateway.stop());

/** Runs a command of the built command line, over the admin API. */
const cli = (...args: readonly string[]) =>
  gatewayCommand(args, { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN });

/** The output of a command that succeeds. */
async function printed(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await cli(...args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

describe('a list of the command line', () => {
  it('continues after a page with --after', async () => {
    for (const command of [['trail'], ['events'], ['ledger', 'list']]) {
      const page = [...command, '--limit', '1'];
      const first = await printed(...page);
      const [, cursor = ''] = /^More: --after (\S+)$/m.exec(first) ?? [];
      const second = await printed(...page, '--after', cursor);
      expect(second).toContain('│');
      expect(second).not.toBe(first);
    }
  });
});

describe('an overview of the command line', () => {
  it('has what the first screen of the console has', async () => {
    const home = await gateway.call('showHome', {});
    const text = await printed('home');
    expect(text).toMatch(new RegExp(`today +│ +1 │ +${home.spend.today.charged_usd} │`));
    expect(text).toMatch(/New accounts:\n[^]*second \(acct_\w+\)/);
    expect(JSON.parse(await printed('home', '--json'))).toMatchObject({ spend: home.spend });
  });

  it('breaks the spend of a range down, with the period before', async () => {
    const midnight = (days: number) =>
      new Date((Math.floor(Date.now() / 86_400_000) + days) * 86_400_000).toISOString();
    const [from, until] = [midnight(-1), midnight(1)];
    // A day alone is its midnight.
    const range = ['--from', from.slice(0, 10), '--until', until];
    const { total } = await gateway.call('breakDown', {
      by: 'key',
      from,
      until,
    });
    const text = await printed('breakdown', '--by', 'key', ...range);
    for (const row of ['second \\(key_\\w+\\)', 'in all']) {
      expect(text).toMatch(new RegExp(`│ ${row} +│ .*│ +${total.charged_usd} │ +0 │`));
    }
    expect(await printed('breakdown', '--by', 'error', ...range)).toMatch(/in all +│ +0 │/);
  });
});

describe('a terminal', () => {
  const onTerminal = async (columns: number, ...args: readonly string[]) => {
    const { code, out } = await gatewayCommand(
      args,
      { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN },
      columns,
    );
    expect(code).toBe(0);
    return out;
  };

  it.each([60, 80, 120])('gets lists and overviews that fit %i columns', async (columns) => {
    for (const command of [
      ['home'],
      ['today'],
      ['keys', 'list'],
      ['accounts', 'list'],
      ['requests'],
      ['usage', '--by', 'day,account'],
      ['breakdown', '--by', 'key'],
      ['trail'],
      ['models', 'list'],
    ]) {
      const tooWide = (await onTerminal(columns, ...command))
        .split('\n')
        // A terminal wraps the line that names what is left out.
        .filter((line) => line.length > columns && !line.startsWith('Left out: '));
      expect([command, tooWide]).toEqual([command, []]);
    }
  });

  it('gets all columns and digits with --wide, as a pipe does', async () => {
    expect(await onTerminal(60, 'keys', 'list', '--wide')).toBe(await printed('keys', 'list'));
  });

  it('gets a bar beside each day, and home with a line of the last days', async () => {
    expect(await onTerminal(80, 'usage', '--by', 'day')).toMatch(/^\d{4}-\d\d-\d\d .* █{12} /m);
    const home = await onTerminal(80, 'home');
    expect(home).toMatch(/^·{29}█$/m);
    expect(home).toMatch(/^today +1 +0\.\d+ .* █{12}$/m);
  });

  it('gets what to hand to the person who gets a new key, a pipe only the key', async () => {
    const create = ['keys', 'create', '--name', 'colleague'];
    const text = await onTerminal(80, ...create);
    const [, key = ''] = /^API key \(shown this once\): (\S+)$/m.exec(text) ?? [];
    expect(text).toMatch(new RegExp(`ANTHROPIC_BASE_URL=https?://\\S.*TOKEN=${key} claude$`, 'm'));
    expect(text).toMatch(/^page +https?:\/\/.*\/dashboard\/ /m);
    expect(text).toMatch(/^as a link +farthing keys key-link key_\w+/m);
    expect(await printed(...create)).not.toContain('To hand on');
  });
});

it('the built program fits a pseudo-terminal, with colours unless NO_COLOR is set', async () => {
  const command = `stty cols 60 && exec ${process.execPath} ${MAIN} accounts list`;
  const list = async (env: Readonly<Record<string, string>>) => {
    const variables = { ...INHERITED, TERM: 'xterm-256color', ...env };
    const remote = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN };
    const options = { env: { ...variables, ...remote } };
    const { stdout } = await promisify(execFile)('script', ['-qec', command, '/dev/null'], options);
    // On a busy machine, the stopwatch was there before.
    return stdout.replaceAll('\r\n', '\n').replaceAll(STOPWATCH, '');
  };
  const coloured = await list({});
  expect(coloured).toContain('\u001b[1mid\u001b[22m');
  const plain = await list({ NO_COLOR: '1' });
  expect(plain).not.toContain('\u001b[1m');
  expect(plain).toMatch(/^id +name .*balance \(USD\)/m);
  expect(Math.max(...plain.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
});

describe('--columns', () => {
  it('prints the columns that are asked for, named as in JSON, in their order', async () => {
    const asked = ['keys', 'list', '--columns', 'caps.day.used_usd,id,metadata.plan'];
    const { data } = await gateway.call('listKeys', {});
    const [first] = data;
    const csv = await printed(...asked.slice(0, 3), 'id,caps.day.used_usd', '--csv');
    expect(csv.split('\r\n')[0]).toBe('id,caps.day.used_usd');
    expect(csv.split('\r\n')[1]).toBe(`${first!.id},${first!.caps.day.used_usd}`);
    const text = await printed(...asked);
    expect(text).toMatch(/^│ caps\.day\.used_usd │ id +│ metadata\.plan │$/m);
    expect(text).toContain(`│ ${first!.id} │`);
  });

  it('refuses columns that the list does not have, and JSON', async () => {
    const unknown = await cli('keys', 'list', '--columns', 'id,nonsense');
    expect(unknown).toMatchObject({ code: 2, out: '' });
    expect(unknown.err).toContain("'--columns <names>'");
    expect(unknown.err).toContain('There is no nonsense. It must be some of object, id, ');
    expect(await cli('keys', 'list', '--columns', 'id', '--json')).toMatchObject({ code: 2 });
  });
});

describe('wrong usage', () => {
  it('of a misspelt command is answered with the nearest name', async () => {
    expect(await cli('acounts', 'list')).toEqual({
      code: 2,
      out: '',
      err: "error: unknown command 'acounts'\n(Did you mean accounts?)\n(--help says more)\n",
    });
  });

  it.each([
    [['usage', '--since', 'yesterday'], '--since, --from <when>'],
    [['ledger', 'list', '--until', '2026-02-30'], '--until <when>'],
    [['requests', '--month', '2026-13'], '--month <month>'],
    [['requests', '--month', '2026-11', '--since', '7d'], '--month <month>'],
    [['keys', 'create', '--name', 'x', '--expires-at', '7d'], '--expires-at <when>'],
    [['books', 'November'], "'month'"],
    [['journal', 'November', '--as', 'datev'], "'month'"],
    [['accounts', 'statement', 'acct_a', '2026-13'], "'month'"],
    [['reconcile', '--since', 'soon'], '--since, --from <when>'],
    [['usage', '--since', '2026-11-01T13:30:00Z'], '--from: must be a whole hour'],
    [['usage', '--since', '2026-11-02', '--until', '2026-11-01'], '--until: must be after from'],
  ])('exits with 2 and names the option: %j', async (args, named) => {
    const { code, out, err } = await cli(...args);
    expect({ code, out, err }).toEqual({ code: 2, out: '', err: expect.stringContaining(named) });
  });
});

it('ranges are those of BOOKS_TIME_ZONE, which is the one of the gateway', async () => {
  const zoned = await startTestGateway({
    env: { ADMIN_TOKEN, BOOKS_TIME_ZONE: 'Europe/Berlin' },
  });
  try {
    const remote = { ADMIN_URL: zoned.adminUrl, ADMIN_TOKEN };
    const range = async (...args: readonly string[]) => {
      const { out } = await gatewayCommand(['usage', '--json', ...args], remote);
      return JSON.parse(out) as object;
    };
    expect(await range('--month', '2026-10')).toMatchObject({
      from: '2026-09-30T22:00:00.000Z',
      until: '2026-10-31T23:00:00.000Z',
    });
    expect(await range('--since', '2026-11-01')).toMatchObject({
      from: '2026-10-31T23:00:00.000Z',
    });
    expect(await range('--from', '2026-11-01T00:00:00Z')).toMatchObject({
      from: '2026-11-01T00:00:00.000Z',
    });
  } finally {
    await zoned.stop();
  }
});

it('a breakdown is printed as CSV too', async () => {
  const csv = await printed('breakdown', '--by', 'key', '--csv');
  expect(csv).toMatch(/^[\w,]+charged_usd[\w,]*\r\n/);
});

describe('the help', () => {
  const programs = (command: Command): readonly Command[] => [
    command,
    ...command.commands.flatMap(programs),
  ];

  it('has an example for each command, which can be typed', async () => {
    const paths = (command: Command, path: readonly string[]): readonly string[] =>
      command.commands.flatMap((below) => {
        const its = [...path, below.name()];
        return below.commands.length === 0 ? [its.join(' ')] : paths(below, its);
      });
    const program = createProgram();
    for (const command of programs(program)) {
      command.configureOutput({ writeErr: () => undefined }).action(() => undefined);
    }
    expect(paths(program, []).filter((path) => EXAMPLES[path] === undefined)).toEqual([]);
    const refused: string[] = [];
    for (const [path, examples] of Object.entries(EXAMPLES)) {
      for (const example of examples) {
        const typed = `${path} ${example}`
          .replace(/ ?> .*/, '')
          .replaceAll('…', 'a')
          .trim();
        await program.parseAsync(typed.split(' '), { from: 'user' }).catch((error: unknown) => {
          refused.push(`${typed}: ${String(error)}`);
        });
      }
    }
    expect(refused).toEqual([]);
    expect(await printed('keys', 'top-up', '--help')).toMatch(
      /\n\nExamples:\n {2}farthing keys top-up key_… 10 --id invoice-1042\n$/,
    );
  });

  it('describes each command and each option', () => {
    for (const command of programs(createProgram())) {
      expect(command.description()).not.toBe('');
      for (const { long, description } of command.options) {
        expect([command.name(), long, description]).not.toContain('');
      }
    }
  });

  it('says which values an option takes when it gets another', async () => {
    const { code, err } = await cli('accounts', 'list', '--order', 'oldest');
    expect(code).toBe(2);
    expect(err).toContain('It must be one of newest, spent, balance, last_charged.');
  });

  it('names the values and the default of an option', async () => {
    const help = await printed('accounts', 'list', '--help');
    expect(help).toMatch(/--limit <n> +at most this many \(default: 100\)/);
    expect(help).toMatch(/--order <order> +what comes first \(one of newest, spent,/);
  });
});

describe('a list in pages', () => {
  // F154
  it('is printed as one JSON object with the items of all pages, some of them empty', () => {
    const write = createJsonPages();
    const total = { a: 1 };
    const text = [
      write({ total, data: [], next_cursor: '1' } as never),
      write({ total, data: [{ n: 1 }, { n: 2 }], next_cursor: '2' } as never),
      write({ total, data: [], next_cursor: '3' } as never),
      write({ total, data: [{ n: 3 }], next_cursor: null } as never),
    ].join('');
    const data = [{ n: 1 }, { n: 2 }, { n: 3 }];
    expect(JSON.parse(text)).toEqual({ total, has_more: false, next_cursor: null, data });
  });

  // F154
  it('has one header in CSV', async () => {
    const { data } = await gateway.call('listModels', {});
    const [first = {}, ...others] = data;
    const write = csvPages('listModels');
    expect(write([first]) + write(others)).toBe(listCsv('listModels', data));
  });
});

describe('a list as CSV', () => {
  const headerOf = (csv: string): string => csv.split('\r\n')[0] ?? '';
  const lists = {
    listKeys: () => gateway.call('listKeys', {}),
    listAccounts: () => gateway.call('listAccounts', {}),
    listLedger: () => gateway.call('listLedger', {}),
    listModels: () => gateway.call('listModels', {}),
    listUsage: () =>
      gateway.call('listUsage', { from: '2020-01-01T00:00:00Z', until: '2099-01-01T00:00:00Z' }),
    showBooks: () => gateway.call('showBooks', { month: new Date().toISOString().slice(0, 7) }),
  };

  it.each(Object.keys(lists) as (keyof typeof lists)[])(
    'has the same columns whether or not it is empty: %s',
    async (name) => {
      const { data } = await lists[name]();
      expect(data).not.toEqual([]);
      expect(headerOf(listCsv(name, data))).toBe(headerOf(listCsv(name, [])));
    },
  );

  it('has a header if it is empty', async () => {
    const header = await printed('ledger', 'list', '--model', 'nothing', '--csv');
    expect(header).toMatch(/^object,id,account_id,.*\r\n$/);
    expect(header.trim().split(',')).toEqual(
      expect.arrayContaining(['usage.input_tokens', 'rates.cache_read', 'reason', 'note']),
    );
  });

  it('has one column for each name in the metadata of its items', async () => {
    await gateway.createKey({ name: 'labelled', metadata: { plan: 'pro' } });
    const [header, row] = (await printed('keys', 'list', '--name', 'labelled', '--csv')).split(
      '\r\n',
    );
    const columns = header!.split(',');
    expect(columns).not.toContain('metadata');
    expect(row!.split(',')[columns.indexOf('metadata.plan')]).toBe('pro');
    expect(row!.split(',')[columns.indexOf('caps.day.used_usd')]).toBe('0');
  });
});

it('farthing models table prints what PRICES takes, so that it can be changed there', async () => {
  const text = await printed('models', 'table');
  const table = JSON.parse(text) as { readonly models: readonly unknown[] };
  expect(table).toEqual(defaultPriceTableJson);
  const file = join(mkdtempSync(join(tmpdir(), 'price-table-')), 'prices.json');
  writeFileSync(file, JSON.stringify({ models: table.models.slice(0, 1) }));
  const { out } = await gatewayCommand(['models', 'table'], { PRICES: file });
  expect(JSON.parse(out)).toEqual({ models: table.models.slice(0, 1) });
});

it('farthing keys list names the account of each key', async () => {
  const { data } = await gateway.call('listKeys', {});
  const list = await printed('keys', 'list');
  for (const { id, account_id } of data) {
    expect(list).toMatch(new RegExp(`^│ ${id} +│.*\\n│ ${account_id} +│`, 'm'));
  }
});

it('an account gets prices, an allowance and notices, and loses them by "none"', async () => {
  const account = await gateway.call('createAccount', { name: 'terms' });
  const set = (prices: string, allowance: string, shares: string) => {
    const terms = ['--prices', prices, '--allowance', allowance, '--notice-shares', shares];
    return printed('accounts', 'update', account.id, ...terms);
  };
  const seen = (answer: string) =>
    printed('accounts', 'update', account.id, '--members-see-balance', answer);
  for (const [answer, shown] of [
    ['yes', 'yes'],
    ['no', 'no'],
    ['none', 'in calls only'],
  ] as const) {
    expect(await seen(answer)).toMatch(new RegExp(`^members see the balance +${shown}$`, 'm'));
  }
  expect(await cli('accounts', 'create', '--name', 'x', '--members-see-balance', 'maybe')).toEqual({
    code: 2,
    out: '',
    err: expect.stringContaining('It must be one of yes, no.'),
  });
  expect(await set('0.9', '2.5', '80,50')).toMatch(
    /^prices +0\.9\nallowance of each month \(USD\) +2\.5\nnotices at \(%\) +50, 80$/m,
  );
  await set('none', 'none', 'none');
  expect(await gateway.call('showAccount', { account_id: account.id })).toMatchObject({
    prices: null,
    allowance_usd: null,
    notice_shares: [],
  });
});

describe('entries of the ledger', () => {
  it('are listed with their ids, reasons, references and notes, at most 120 columns wide', async () => {
    const { account } = await gateway.call('createKey', { name: 'noted', balance_usd: '1.5' });
    const uuid = randomUUID();
    const why = ['--reason', 'goodwill', '--reference', 'order-77'];
    const note = 'The outage of last week hit this customer, so one day is free';
    const adjust = ['accounts', 'adjust', account.id, '2', ...why, '--note', note, '--id', uuid];
    await printed(...adjust);
    const id = `gift:${'x'.repeat(50)}`;
    await printed('accounts', 'top-up', account.id, '3', '--promotional', '--id', uuid);
    const list = await printed('ledger', 'list', '--account', account.id);
    for (const text of [
      'adjustment, goodwill, by admin',
      `adjustment:${uuid}`,
      'reference: order-77',
      'note: The outage of last week hit this customer,',
      'top_up, promotional, by admin',
      `topup:${uuid}`,
    ]) {
      expect(list).toContain(` ${text} `);
    }
    expect(Math.max(...list.split('\n').map((line) => line.length))).toBeLessThanOrEqual(120);

    await printed('accounts', 'top-up', account.id, '3', '--id', id);
    expect(await printed('ledger', 'list', '--account', account.id)).toContain(` topup:${id} `);
  });

  it('are shown one by one', async () => {
    const { data } = await gateway.call('listLedger', {});
    for (const entry of [
      data.find(({ kind }) => kind === 'charge')!,
      data.find(({ kind }) => kind === 'top_up')!,
    ]) {
      expect(JSON.parse(await printed('ledger', 'show', entry.id, '--json'))).toEqual(entry);
      const shown = await printed('ledger', 'show', entry.id);
      for (const text of [entry.id, entry.account_id, entry.amount_usd, entry.balance_after_usd]) {
        expect(shown).toMatch(new RegExp(` ${text}$`, 'm'));
      }
    }
    expect(await cli('ledger', 'show', 'req_nobody')).toEqual({
      code: 1,
      out: '',
      err: expect.stringContaining('there is no such entry'),
    });
  });
});

describe('a correction', () => {
  // F438: a refund with the wrong sign: the command added 5 USD, and said "Adjusted.".
  it.each([
    ['refund', '5'],
    ['chargeback', '5'],
    ['goodwill', '-5'],
  ])('for a %s of %s is refused, because the reason has the other sign', async (reason, usd) => {
    const { account } = await gateway.call('createKey', { name: 'signs', balance_usd: '10' });
    const adjust = ['accounts', 'adjust', account.id, '--reason', reason, '--', usd];
    expect(await cli(...adjust)).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('must be below 0 for a refund or chargeback'),
    });
    const { balance_usd } = await gateway.call('showAccount', { account_id: account.id });
    expect(balance_usd).toBe('10');
  });
});

describe('an entry that leaves no key active', () => {
  it('says how much is missing if the balance is below zero', async () => {
    const { account } = await gateway.call('createKey', { name: 'debtor', balance_usd: '1.5' });
    const adjust = (reason: string, usd: string) =>
      printed('accounts', 'adjust', account.id, '--reason', reason, '--', usd);
    expect(await adjust('chargeback', '-5')).toContain(
      'The balance is below zero: more than 3.5 USD must be credited before its keys can be used again.',
    );
    expect(await printed('accounts', 'top-up', account.id, '3')).toContain('more than 0.5 USD');
    const atZero = await adjust('correction', '0.5');
    expect(atZero).toContain(
      'No key of this account can make requests now: it has no key, its balance is used up',
    );
    expect(atZero).not.toContain('below zero');
  });
});

describe('a creation with a first credit', () => {
  it.each(['keys', 'accounts'])(
    'says what the credit is and when it expires: %s',
    async (group) => {
      const create = [group, 'create', '--name', 'guest'];
      const gift = ['--balance', '5', '--promotional', '--credit-expires-at', '2099-12-31'];
      const once = ['--id', `gift-${group}`];
      const line = 'first credit: 5 USD, promotional, until 2099-12-31T00:00:00.000Z';
      expect(await printed(...create, ...gift, ...once)).toContain(line);
      expect(await printed(...create, ...gift, ...once)).toContain(line);
      const paid = await printed(...create, '--balance', '5');
      expect(paid).toContain('first credit: 5 USD, paid, does not expire');
      expect(await printed(...create)).not.toContain('first credit');
    },
  );
});

describe('a refusal', () => {
  it.each([
    [['accounts', 'create', '--name', 'x', '--balance', '1.2.3'], '--balance: '],
    [['accounts', 'transfer', 'acct_a', 'acct_b', '0'], '<amount_usd>: must be above 0'],
    [['accounts', 'transfer', 'acct_a', 'nobody', '1'], '<to_account_id>: must be the id of'],
    [['accounts', 'transfer', 'nobody', 'acct_b', '1'], '<account_id>: must be the id of'],
    [['keys', 'list', '--account', 'nobody'], '--account: must be the id of an account'],
    [['keys', 'create', '--name', 'x', '--id', 'a b'], '--id: must be 1 to 128 characters'],
    [['keys', 'create', '--name', 'x', '--metadata', 'name=a\tb'], '--metadata name: '],
    [['trail', '--after', 'nonsense'], '--after: must be the next_cursor of the previous page'],
  ])('names the option or argument that was typed: %j', async (args, start) => {
    const { code, err } = await cli(...args);
    expect({ code, start: err.slice(0, 'farthing: '.length + start.length) }).toEqual({
      code: 2,
      start: `farthing: ${start}`,
    });
  });

  it.each([
    [['keys', 'create', '--promotional'], '--promotional'],
    [['accounts', 'create', '--credit-expires-at', '2099-12-31'], '--credit-expires-at'],
  ])('of what describes a credit without an amount names the option: %j', async (args, option) => {
    const { code, err } = await cli(...args, '--name', 'x');
    expect(code).toBe(1);
    expect(err).toContain(`farthing: ${option}: describes a first credit`);
  });

  it('names the field if its value was computed from an option', async () => {
    const { data } = await gateway.call('listKeys', { limit: 1 });
    const { err } = await cli('keys', 'link', data[0]!.id, '--days', '367');
    expect(err).toMatch(/^farthing: expires_in_seconds: /);
  });

  it('exits with 3 if the admin API cannot be reached, or with 2 if `reconcile` may not use it', async () => {
    const unreachable = { ADMIN_URL: 'http://127.0.0.1:1', ADMIN_TOKEN };
    const range = ['--from', '2026-11-01', '--until', '2026-11-02'];
    for (const command of [
      ['keys', 'list'],
      ['ledger', 'audit'],
      ['reconcile', ...range],
    ]) {
      expect(await gatewayCommand(command, unreachable)).toEqual({
        code: 3,
        out: '',
        err: expect.stringMatching(/^farthing: ADMIN_URL: cannot be reached \(ECONNREFUSED\)\n$/),
      });
    }
    const stranger = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN: 'x'.repeat(20) };
    expect(await gatewayCommand(['reconcile', ...range], stranger)).toMatchObject({ code: 2 });
  });
});
