/** `farthing members import`, beside a running gateway on both ledgers. */

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { usePostgresServer } from '../../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../../packages/balance-store/test/postgres-server.js';
import { gatewayCommand } from '../../support/gateway-process.js';
import { postMessages, startTestGateway, userMessage } from '../../support/gateway.js';
import type { TestGateway } from '../../support/gateway.js';
import { ledgerEnv } from '../../support/ledger-env.js';
import { startMailServer } from '../../support/mail-server.js';
import type { MailServer } from '../../support/mail-server.js';

const folder = mkdtempSync(join(tmpdir(), 'members-import-'));
let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(['embedded', 'PostgreSQL'] as const)('on the %s ledger', (ledger) => {
  let gateway: TestGateway;
  let mail: MailServer;
  let env: Readonly<Record<string, string>>;
  let account_id: string;
  beforeAll(async () => {
    mail = await startMailServer({
      recipient: (address) => (address.startsWith('nobody') ? 550 : undefined),
    });
    gateway = await startTestGateway({
      env: {
        ...(await ledgerEnv(ledger, postgres)),
        SMTP_URL: mail.url,
        MAIL_FROM: 'keys@example.com',
        PUBLIC_URL: 'https://gateway.example',
      },
    });
    const token = gateway.running.dataDir?.secret('admin-token') ?? 'admin-token-of-the-tests';
    env = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN: token };
  });
  afterAll(async () => {
    await gateway.stop();
    await mail.close();
  });
  beforeEach(async () => {
    ({ id: account_id } = await gateway.call('createAccount', { name: 'u', balance_usd: '100' }));
  });

  let files = 0;
  const newFile = (name: string) => {
    files += 1;
    return join(folder, `${ledger}-${String(files)}-${name}`);
  };
  async function importing(csv: string | readonly string[], ...options: readonly string[]) {
    const file = newFile('people.csv');
    writeFileSync(file, typeof csv === 'string' ? csv : `${csv.join('\n')}\n`);
    const args = ['members', 'import', file, '--account', account_id, ...options];
    const { code, out, err } = await gatewayCommand(args, env);
    return { code, out, err: err.replaceAll(file, 'people.csv') };
  }
  const linesOf = ({ out }: { readonly out: string }) => out.trimEnd().split('\n');
  const membersNow = async () => {
    const groups = await gateway.call('listGroups', { account_id });
    const nameOf = (id: string | null) => groups.data.find((one) => one.id === id)?.name ?? null;
    const { data } = await gateway.call('listMembers', { account_id });
    return data.map(({ external_id, name, email, group_id, metadata, state }) => [
      external_id,
      name,
      email,
      nameOf(group_id),
      metadata,
      state,
    ]);
  };
  const trailLength = async () =>
    (await gateway.call('listTrail', { account_id, limit: 1000 })).data.length;

  const PEOPLE = [
    'name,external_id,email,group,meta:cost_centre,key',
    'Ada Lovelace,ada,ada@example.com,Databases/Team A,17,yes',
    'Bob,bob,,Databases/Team B,18,no',
    '"Eve, ""the"" third",eve,eve@example.com,Databases,,laptop',
  ];

  it('a dry run prints what a run then does, and a second run changes nothing', async () => {
    const links = newFile('links.csv');
    const dry = await importing(PEOPLE, '--dry-run', '--links', links);
    expect(dry.code).toBe(1);
    expect(linesOf(dry)).toEqual([
      'create group Databases',
      'create group Databases/Team A',
      'create group Databases/Team B',
      'create member ada (Ada Lovelace): group Databases/Team A; email ada@example.com',
      'create member bob (Bob): group Databases/Team B',
      'create member eve (Eve, "the" third): group Databases; email eve@example.com',
      'create key “Ada Lovelace” of ada',
      'create key “laptop” of eve',
      '8 changes. Nothing was changed: this was a dry run.',
    ]);
    expect(await membersNow()).toEqual([]);
    const done = await importing(PEOPLE, '--links', links);
    expect([done.code, done.err]).toEqual([0, '']);
    expect(linesOf(done)).toEqual([...linesOf(dry).slice(0, -1), '8 changes made.']);
    expect((await membersNow()).sort()).toEqual([
      ['ada', 'Ada Lovelace', 'ada@example.com', 'Team A', { cost_centre: '17' }, 'active'],
      ['bob', 'Bob', null, 'Team B', { cost_centre: '18' }, 'active'],
      ['eve', 'Eve, "the" third', 'eve@example.com', 'Databases', {}, 'active'],
    ]);
    const before = await trailLength();
    const again = await importing(PEOPLE, '--dry-run');
    expect([again.code, linesOf(again)]).toEqual([
      0,
      ['left   3 members, 2 keys', 'Nothing to change.'],
    ]);
    expect((await importing(PEOPLE)).code).toBe(0);
    expect(await trailLength()).toBe(before);
  });

  it('links and keys are in a file for its owner alone, and each link shows a key that works', async () => {
    const [links, keys] = [newFile('links.csv'), newFile('keys.csv')];
    expect((await importing(PEOPLE, '--links', links)).code).toBe(0);
    expect(statSync(links).mode & 0o777).toBe(0o600);
    const [header, ada, eve, ...rest] = readFileSync(links, 'utf8').trimEnd().split('\r\n');
    expect([header, rest]).toEqual(['external_id,name,email,key_id,link,expires_at', []]);
    expect([ada?.split(',')[0], eve?.split(',')[0]].sort()).toEqual(['ada', 'eve']);
    const link = /#key=(gk_[\w.-]+)/.exec(ada ?? '')?.[1] ?? '';
    const opened = await fetch(`${gateway.url}/v1/dashboard/key-link`, {
      method: 'POST',
      headers: { authorization: `Bearer ${link}` },
    });
    const { api_key } = (await opened.json()) as { readonly api_key: string };
    expect((await postMessages(gateway, api_key, userMessage('Hello'))).status).toBe(200);

    const more = [...PEOPLE, 'Max,max,,,,yes'];
    expect((await importing(more, '--keys', keys)).code).toBe(0);
    expect(statSync(keys).mode & 0o777).toBe(0o600);
    const [, max] = readFileSync(keys, 'utf8').trimEnd().split('\r\n');
    const credential = max?.split(',').at(-1) ?? '';
    expect((await postMessages(gateway, credential, userMessage('Hello'))).status).toBe(200);
    // A file that may have keys is not written over, and nothing is made that nobody would get.
    const another = [...more, 'Zoe,zoe,,,,yes'];
    const over = await importing(another, '--keys', keys);
    expect([over.code, over.err]).toEqual([2, expect.stringContaining('exists already')]);
    const nowhere = await importing(another);
    expect([nowhere.code, nowhere.err]).toEqual([
      2,
      expect.stringContaining('key: somebody must get the keys that this makes'),
    ]);
    expect((await importing(another, '--dry-run')).out).toContain('create key “Zoe” of zoe\n');
    expect((await membersNow()).length).toBe(4);
  });

  it('who moved is moved, what the file has no column for stays, and who is not in it is left or ended', async () => {
    await importing(PEOPLE, '--keys', newFile('keys.csv'));
    await gateway.call('createMember', { account_id, name: 'a program' });
    const moved = ['external_id,name,group', 'ada,Ada King,Databases/Team B'];
    const change = await importing(moved);
    expect(linesOf(change)).toEqual([
      'change member ada (Ada Lovelace): name Ada Lovelace → Ada King; group Databases/Team A → Databases/Team B',
      '1 change made.',
    ]);
    const ended = await importing(moved, '--end-missing', '--within', 'Databases/Team B');
    expect(linesOf(ended)).toEqual([
      'end    member bob (Bob), and revoke the keys',
      'left   1 members',
      '1 change made.',
    ]);
    const rest = await importing(moved, '--end-missing');
    expect(linesOf(rest)[0]).toBe('end    member eve (Eve, "the" third), and revoke the keys');
    expect((await membersNow()).sort()).toEqual([
      [null, 'a program', null, null, {}, 'active'],
      ['ada', 'Ada King', 'ada@example.com', 'Team B', { cost_centre: '17' }, 'active'],
      ['bob', 'Bob', null, 'Team B', { cost_centre: '18' }, 'ended'],
      ['eve', 'Eve, "the" third', 'eve@example.com', 'Databases', {}, 'ended'],
    ]);
    const { data: keys } = await gateway.call('listKeys', { account_id });
    expect(keys.map(({ name, state }) => [name, state]).sort()).toEqual([
      ['Ada Lovelace', 'active'],
      ['laptop', 'revoked'],
    ]);
    const back = await importing(['external_id,name', 'bob,Bob']);
    expect([back.code, back.err]).toEqual([
      2,
      expect.stringContaining('line 2, external_id: belongs to a member that has ended'),
    ]);
    // An empty cell states that there is none.
    const none = await importing(['external_id;name;email;meta:cost_centre', 'ada;Ada King;;']);
    expect(linesOf(none)).toEqual([
      'change member ada (Ada King): email ada@example.com → none; metadata.cost_centre 17 → none',
      '1 change made.',
    ]);
  });

  it('each wrong cell is named by its line and column, and nothing at all is changed', async () => {
    const before = await trailLength();
    const { code, err } = await importing([
      'name,external_id,email,group,key',
      'Ada,ada,ada@localhost,Databases,yes',
      ',bob,,Databases//A,',
      'Cid,ada,,,,more',
      `Dan,dan,,${Array.from({ length: 11 }, () => 'g').join('/')},`,
    ]);
    expect([code, err.split('\n')]).toEqual([
      2,
      [
        'farthing: people.csv cannot be used, and nothing was changed:',
        '  line 2, email: must be an address such as person@example.com, of at most 254 ASCII characters',
        '  line 3, name: must not be empty',
        '  line 3, group: must be names with / between them, such as Databases/Team A: “” is none',
        '  line 4: has more cells than there are columns',
        '  line 4, external_id: is that of line 2, too',
        '  line 5, group: groups are at most 10 levels deep',
        '',
      ],
    ]);
    const header = await importing(['name,mail', 'Ada,ada@example.com']);
    expect(header.err).toContain('line 1, mail: is not a column: name, external_id, email, group');
    expect(header.err).toContain('line 1, external_id: this column is needed');
    const quote = await importing('name,external_id\nAda,ada\n"Bob,bob\n');
    expect(quote.err).toContain('line 3: a quote (") does not end');
    for (const name of ['one', 'one']) await gateway.call('createGroup', { account_id, name });
    const twice = await importing(['name,external_id,group', 'Ada,ada,one']);
    expect(twice.err).toContain('line 2, group: several groups are called one: rename all but one');
    expect([await membersNow(), await trailLength()]).toEqual([[], before + 2]);
  });

  it('each member is sent a link, and one whose mail failed or was lost is sent another', async () => {
    const before = mail.received.length;
    const people = [
      'name,external_id,email,key',
      'Ada,ada,ada@example.com,yes',
      'Bob,bob,nobody@example.com,yes',
      'Cid,cid,,yes',
    ];
    const first = await importing(people, '--mail', '--days', '3');
    expect(first.code).toBe(1);
    expect(linesOf(first).slice(-5)).toEqual([
      '6 changes made.',
      '1 links sent by mail.',
      expect.stringMatching(
        /^Not sent by mail: (bob: the mail server responded with 550 to RCPT TO|cid: has no address)$/,
      ),
      expect.stringMatching(/^Not sent by mail: (bob|cid): /),
      'Correct the addresses, and run it with --again.',
    ]);
    const [letter] = mail.received.slice(before);
    expect(letter?.to).toEqual(['ada@example.com']);
    const link = /#key=(gk_[\w.-]+)/.exec(letter?.text ?? '')?.[1] ?? '';
    const opened = await fetch(`${gateway.url}/v1/dashboard/key-link`, {
      method: 'POST',
      headers: { authorization: `Bearer ${link}` },
    });
    expect(opened.status).toBe(200);
    // Ada has opened hers.
    const mended = people.map((line) =>
      line.replace('nobody', 'bob').replace('Cid,cid,', 'Cid,cid,cid@example.com'),
    );
    // A run that stopped after it had made a key of Dan, and before it made its link.
    const { id: member_id } = await gateway.call('createMember', {
      account_id,
      name: 'Dan',
      external_id: 'dan',
      email: 'dan@example.com',
    });
    const of = { account_id, member_id, name: 'Dan' };
    await gateway.call('createKey', { ...of, metadata: { shown_by: 'link' } });
    mended.push('Dan,dan,dan@example.com,yes');
    const second = await importing(mended, '--mail', '--again');
    expect([second.code, linesOf(second).filter((line) => line.includes('link'))]).toEqual([
      0,
      [
        'create link to the key “Bob” of bob, which nobody has opened',
        'create link to the key “Cid” of cid, which nobody has opened',
        'create link to the key “Dan” of dan, which nobody has opened',
        '3 links sent by mail.',
      ],
    ]);
    const to = mail.received.slice(before).flatMap((one) => one.to);
    expect(to.sort()).toEqual([
      'ada@example.com',
      'bob@example.com',
      'cid@example.com',
      'dan@example.com',
    ]);
  });
});

it('a laboratory: forty students, each with 20 USD a month, and links by mail', async () => {
  const mail = await startMailServer();
  const gateway = await startTestGateway({
    env: {
      SMTP_URL: mail.url,
      MAIL_FROM: 'keys@uni.example',
      PUBLIC_URL: 'https://gateway.uni.example',
    },
  });
  try {
    const ADMIN_TOKEN = gateway.running.dataDir?.secret('admin-token') ?? '';
    const typed = async (line: string) => {
      const done = await gatewayCommand(line.split(' '), {
        ADMIN_URL: gateway.adminUrl,
        ADMIN_TOKEN,
      });
      expect({ line, code: done.code, err: done.err }).toEqual({ line, code: 0, err: '' });
      return done.out;
    };
    const account = /acct_\S+/.exec(await typed('accounts create --name Chair --balance 1200'))![0];
    const of = `--account ${account}`;
    const group = /grp_\S+/.exec(await typed(`groups create ${of} --name Databases`))![0];
    const terms = '--scope member --amount 20 --period month --time-zone Europe/Berlin';
    const within = `--within-group ${group}`;
    const notices = '--shares 50,80,90 --contact chair@uni.example';
    await typed(`budgets create ${of} --name students ${terms} ${within} ${notices}`);
    const file = join(folder, 'students.csv');
    const rows = Array.from({ length: 40 }, (_, n) => {
      const number = String(n + 1);
      return `Student ${number},s${number},s${number}@uni.example,Databases,yes`;
    });
    writeFileSync(file, ['name,external_id,email,group,key', ...rows].join('\n'));
    const out = await typed(`members import ${file} ${of} --mail`);
    expect(out).toContain('80 changes made.\n40 links sent by mail.');
    expect(new Set(mail.received.flatMap(({ to }) => to)).size).toBe(40);
    const again = await typed(`members import ${file} ${of} --mail --dry-run`);
    expect(again).toContain('left   40 members, 40 keys\nNothing to change.');
    // Each student opens his link, and sees his own 20 USD.
    const letter = mail.received.find(({ to }) => to.includes('s7@uni.example'));
    const link = /#key=(gk_[\w.-]+)/.exec(letter?.text ?? '')?.[1] ?? '';
    const opened = await fetch(`${gateway.url}/v1/dashboard/key-link`, {
      method: 'POST',
      headers: { authorization: `Bearer ${link}` },
    });
    const { api_key } = (await opened.json()) as { readonly api_key: string };
    const seen = await fetch(`${gateway.url}/v1/dashboard/balance`, {
      headers: { authorization: `Bearer ${api_key}` },
    });
    expect(await seen.json()).toMatchObject({
      budgets: [{ name: 'students', amount_usd: '20', used_usd: '0', left_usd: '20' }],
    });
  } finally {
    await gateway.stop();
    await mail.close();
  }
});

it('a gateway that sends no mail is asked before anything is made', async () => {
  const gateway = await startTestGateway();
  try {
    const { id } = await gateway.call('createAccount', { name: 'u' });
    const file = join(folder, 'unmailed.csv');
    writeFileSync(file, 'name,external_id,email,key\nAda,ada,ada@example.com,yes\n');
    const token = gateway.running.dataDir?.secret('admin-token') ?? '';
    const { code, err } = await gatewayCommand(
      ['members', 'import', file, '--account', id, '--mail'],
      { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN: token },
    );
    expect([code, err]).toEqual([
      2,
      expect.stringContaining('cannot send links without SMTP_URL, MAIL_FROM, PUBLIC_URL'),
    ]);
    expect((await gateway.call('listMembers', { account_id: id })).data).toEqual([]);
  } finally {
    await gateway.stop();
  }
});
