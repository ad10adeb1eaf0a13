/** The three set-ups of `docs/budgets.md`, typed from its text on a machine with a new ledger. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { postMessages, userMessage } from '../support/gateway.js';
import { readHandbook } from '../support/handbook.js';
import type { Block } from '../support/handbook.js';
import { openSites } from '../support/handbook-sites.js';
import type { HandbookSites, Site } from '../support/handbook-sites.js';

const page = readHandbook('docs/budgets.md');
let sites: HandbookSites;
beforeAll(async () => {
  sites = await openSites(readHandbook());
});
afterEach(() => sites.stop());
afterAll(() => sites.close());

/** Follows blocks one after the other. The ids printed last stand for `acct_…` and so on. */
function createReader({ machine }: Site) {
  const ids = new Map<string, string>();
  const follow = async (block: Block): Promise<string> => {
    const out = await machine.follow(block, Object.fromEntries(ids));
    for (const [id, prefix] of out.matchAll(/\b(acct|grp|mem|bud|key)_[0-9a-f]+/g)) {
      ids.set(`${String(prefix)}_…`, id);
    }
    return out;
  };
  return { ids, follow };
}

/** Opens a link that shows a key once, as its page does. */
async function keyOf({ machine }: Site, link: string): Promise<string> {
  const token = /#key=([\w.-]+)/.exec(link)?.[1];
  const response = await fetch(`${machine.url}/v1/dashboard/key-link`, {
    method: 'POST',
    headers: { authorization: `Bearer ${String(token)}` },
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { readonly api_key: string }).api_key;
}

/** Where commands are typed. */
const write = ({ machine }: Site, name: string, text: string) => {
  writeFileSync(join(machine.folder, 'log', name), text);
};

const money = async (site: Site, credential: string) => {
  const response = await fetch(`${site.machine.url}/v1/dashboard/account`, {
    headers: { authorization: `Bearer ${credential}` },
  });
  expect(response.status).toBe(200);
  return (await response.json()) as { readonly budgets: readonly Record<string, unknown>[] };
};

it('a laboratory with 40 students', async () => {
  const site = await sites.startEmbedded();
  const [account, csv, dryRun, real, budgets, raise, end, ...others] = page.take(
    'A laboratory with 40 students',
  );
  expect(others).toEqual([]);
  const { ids, follow } = createReader(site);
  await follow(account!);
  const more = Array.from({ length: 39 }, (_, n) => `S ${n},s${n},s${n}@example.com,Databases,yes`);
  write(site, 'students.csv', `${[csv!.code, ...more].join('\n')}\n`);
  const typed = dryRun!.code.replace('acct_…', ids.get('acct_…') ?? '');
  const { code, out, err } = await site.machine.type(typed);
  expect([code, out, err]).toEqual([1, expect.stringContaining('Ada Lovelace'), '']);
  const made = await follow(real!);
  expect(made).toContain('Databases');
  const links = readFileSync(join(site.machine.folder, 'log/links.csv'), 'utf8').trim().split('\n');
  expect(links).toHaveLength(41);
  await follow(budgets!);
  const [, ada = ''] = /(\/\S*#\S+)/.exec(links.find((line) => line.includes('ada')) ?? '') ?? [];
  const credential = await keyOf(site, ada);
  expect((await postMessages(site.machine, credential, userMessage('Hello'))).status).toBe(200);
  const seen = await money(site, credential);
  expect(seen.budgets.map(({ name, amount_usd }) => [name, amount_usd])).toEqual([
    ['each student', '20'],
    ['the course', '400'],
  ]);
  const { out: found } = await site.machine.type(
    `farthing members list --account ${ids.get('acct_…') ?? ''} --external-id ada`,
  );
  ids.set('mem_…', /mem_[0-9a-f]+/.exec(found)?.[0] ?? '');
  await follow(raise!);
  expect((await money(site, credential)).budgets[0]).toMatchObject({ amount_usd: '30' });
  await follow(end!);
  expect((await postMessages(site.machine, credential, userMessage('Hello'))).status).toBe(401);
});

it('a company’s departments', async () => {
  const site = await sites.startEmbedded();
  const [json, apply, key, variables, ...others] = page.take('A company’s departments');
  expect(others).toEqual([]);
  const { ids, follow } = createReader(site);
  write(site, 'company.json', json!.code);
  const first = { kind: 'commands', code: apply!.code.split('\n').slice(0, 2).join('\n') } as const;
  expect(await follow({ ...apply!, ...first })).toContain('Sales');
  const rest = apply!.code.split('\n').slice(2).join('\n');
  const groups = await follow({ ...apply!, code: rest });
  expect(groups).toMatch(/IT/);
  expect(
    await site.machine.follow({ kind: 'commands', code: 'farthing apply company.json' }),
  ).toMatch(/nothing/i);
  const made = await follow(key!);
  const [credential = ''] = /gw_[\w-]{20,}/.exec(made) ?? [];
  const answer = await postMessages(site.machine, credential, userMessage('Hello'), {
    'x-gateway-member': 'dan@example.com',
  });
  expect(await answer.json()).toMatchObject({ type: 'message' });
  const { out } = await site.machine.type(
    `farthing members list --account ${ids.get('acct_…') ?? ''}`,
  );
  expect(out).toContain('dan@example.com');
  await site.machine.follow(variables!);
  await site.restart();
});

it('a reseller’s customers', async () => {
  const site = await sites.startEmbedded();
  const [create, links, ...others] = page.take('A reseller’s customers');
  expect(others).toEqual([]);
  const { follow } = createReader(site);
  await follow({ ...create!, code: create!.code.split('\n')[0]! });
  await follow({ ...create!, code: create!.code.split('\n').slice(1).join('\n') });
  const made = await follow(links!);
  const credential = await keyOf(site, made);
  expect((await postMessages(site.machine, credential, userMessage('Hello'))).status).toBe(200);
  expect(await money(site, credential)).toMatchObject({
    key: { caps: [{ period: 'month', cap_usd: '40' }] },
  });
});
