/** Notices by mail, from both ledgers. The tests check the mails that a mail server got. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { BalanceStore, StoredEvent } from '@gateway/balance-store';
import { openEmbeddedStore } from '@gateway/balance-store/embedded';
import { openPostgresStore } from '@gateway/balance-store/postgres';
import { closeAny } from '@gateway/balance-store/testing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { DELIVERY_PATIENCE, Deliverer } from '../../src/observe/notifications/deliverer.js';
import { createMailClient } from '../../src/observe/notifications/mail-client.js';
import { mailOf } from '../../src/observe/notifications/mail-message.js';
import { mailTarget } from '../../src/observe/notifications/mail-target.js';
import { smtpUrl } from '../../src/config/mail-config.js';
import { makeCertificate } from '../support/certificate.js';
import { gatewayCommand } from '../support/gateway-process.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import { LOGIN, ORIGIN, SENDER, startMailServer } from '../support/mail-server.js';
import type { MailServer, MailServerOptions, ReceivedMail } from '../support/mail-server.js';
import { until } from '../support/until.js';
import { SECRET, startWebhookReceiver } from '../support/webhook-receiver.js';

const PEPPER = 'pepper of the tests';
const ADDRESS = 'person@customer.example';
const HOOKS = join(__dirname, '../../../../packages/balance-store/test/run-typescript.mjs');

let postgres: PostgresServer;
const cleanUps: (() => unknown)[] = [];
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(() => postgres.stop());

async function mailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const server = await startMailServer(options);
  cleanUps.push(() => server.close());
  return server;
}

/** In the form that `event-sender.ts` expects. */
type Place = readonly [kind: 'embedded' | 'postgres', place: string];

async function newPlace(kind: Place[0]): Promise<Place> {
  if (kind === 'postgres') return [kind, await postgres.createDatabase()];
  const dataDir = mkdtempSync(join(tmpdir(), 'mail-notices-'));
  cleanUps.push(() => {
    rmSync(dataDir, { recursive: true });
  });
  return [kind, dataDir];
}

async function openAt([kind, place]: Place): Promise<BalanceStore> {
  const store = await (kind === 'embedded'
    ? openEmbeddedStore({ dataDir: place, pepper: PEPPER })
    : openPostgresStore({ connectionString: place, pepper: PEPPER }));
  cleanUps.push(() => store.close());
  return store;
}

async function newAccount(store: BalanceStore, noticeEmail = ADDRESS): Promise<string> {
  const created = await store.create({ account: { name: 'a customer' }, by: { name: 'tests' } });
  if (created.outcome !== 'created') throw new Error(created.outcome);
  await store.updateAccount(created.account.id, { noticeEmail }, { name: 'tests' });
  return created.account.id;
}

const record = (store: BalanceStore, accountId: string, share: number) =>
  store.recordEvent({
    type: 'cap.share',
    accountId,
    keyId: 'key_1',
    data: { period: 'day', cap: '10.0', used: '5.0', share: String(share) },
  });

function deliver(store: BalanceStore, { url }: MailServer) {
  const counts = { delivered: 0, failed: 0, givenUp: 0 };
  const client = createMailClient({ server: smtpUrl.parse(url), from: SENDER });
  const deliverer = new Deliverer({
    store,
    target: mailTarget(store, client, ORIGIN),
    metrics: {
      count: (what) => {
        counts[what] += 1;
      },
    },
    log: pino({ level: 'silent' }),
    patience: {
      ...DELIVERY_PATIENCE,
      schedule: { delaysMs: [20], giveUpAfterMs: 3_600_000, leastAttempts: 1 },
      pollMs: 20,
    },
  });
  cleanUps.push(() => deliverer.stop());
  return { counts };
}

const shareOf = ({ headers }: ReceivedMail) => Number(/^\d+/.exec(headers['subject'] ?? '')?.[0]);
const idOf = ({ headers }: ReceivedMail) => headers['message-id'];
const statesOf = async (store: BalanceStore, accountId: string) =>
  (await store.listEvents({ accountId, limit: 100 })).map(({ mail, mailError }) => [
    mail,
    mailError,
  ]);

describe.each(['embedded', 'postgres'] as const)('mail from the %s ledger', (kind) => {
  // F270: a customer's balance and cap pass the shares that the customer chose, with several
  // requests at once: each is one mail, with the amounts and the page, and no secret.
  it('is sent once for each share of a balance and a cap, and when the balance is used up', async () => {
    const server = await mailServer();
    const webhooks = await startWebhookReceiver(() => 503);
    cleanUps.push(() => webhooks.close());
    const gateway = await startTestGateway({
      env: {
        ...(kind === 'embedded'
          ? {}
          : {
              DATABASE_URL: await postgres.createDatabase(),
              ADMIN_TOKEN: 'admin-token-of-the-tests',
              KEY_PEPPER: 'pepper-of-the-tests',
            }),
        SMTP_URL: server.url,
        MAIL_FROM: 'Example Ltd <billing@example.com>',
        PUBLIC_URL: 'https://gateway.example',
        OPERATOR: 'Bücher & Söhne <help@example.com>',
        // The receiver of webhooks refuses all of them, which holds up no mail.
        WEBHOOK_URL: webhooks.url,
        WEBHOOK_SECRET: SECRET,
        WEBHOOK_ALLOW_PRIVATE: 'true',
      },
    });
    cleanUps.push(() => gateway.stop());
    const { id, apiKey } = await gateway.createKey({ balance_usd: '1', cap_total_usd: '2' });
    const response = await fetch(`${gateway.url}/v1/dashboard/notices`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ shares: [50, 90, 100], email: ADDRESS }),
    });
    expect(await response.json()).toMatchObject({ email: ADDRESS, sends_mail: true });
    const ask = async () => {
      // An answer costs 0.3 USD.
      gateway.simulator.script({ usage: { output_tokens: 20_000, input_tokens: 0 } });
      await (
        await postMessages(gateway, apiKey, userMessage('Hello', { max_tokens: 20_000 }))
      ).text();
    };
    await Promise.all([ask(), ask(), ask(), ask()]);
    await until(async () => {
      const { data } = await gateway.call('listEvents', { limit: 100 });
      return data.every(({ mail }) => mail !== 'pending');
    });
    expect(server.received.map(({ headers }) => headers['subject']).sort()).toEqual([
      '50 % of the cap of a key is used',
      '50 % of your balance is used',
      '90 % of your balance is used',
      'Your balance is used up',
    ]);
    const { account_id } = await gateway.call('showKey', { key_id: id });
    const half = server.received.find(({ text }) => text.startsWith('50 % of the balance'))!;
    const balance = /Balance: ([\d.-]+) USD/.exec(half.text)?.[1];
    expect(half.text).toBe(
      '50 % of the balance after your last credit is used.\n\n' +
        `Balance: ${String(balance)} USD\nBalance after the last credit: 1 USD\n` +
        `Account: ${account_id}\n\nYour page: https://gateway.example/dashboard/\n\n` +
        'Bücher & Söhne\n',
    );
    const cap = server.received.find(({ headers }) => headers['subject']?.includes('cap'))!;
    expect(cap.text).toContain(`Key: ${id}\nUsed: `);
    expect([half.from, half.to]).toEqual(['billing@example.com', [ADDRESS]]);
    expect(half.headers).toMatchObject({
      from: 'Example Ltd <billing@example.com>',
      to: ADDRESS,
      'auto-submitted': 'auto-generated',
      'x-mailer': 'Farthing',
      'content-type': 'text/plain; charset=utf-8',
    });
    expect(new Set(server.received.map(idOf)).size).toBe(4);
    expect(JSON.stringify(server.received)).not.toContain(apiKey);
    const events = await gateway.call('listEvents', { limit: 100 });
    const metrics = await fetch(`${gateway.adminUrl}/metrics`, {
      headers: {
        authorization: `Bearer ${gateway.running.dataDir?.secret('admin-token') ?? 'admin-token-of-the-tests'}`,
      },
    });
    const text = await metrics.text();
    expect(text).toMatch(/^gateway_mails_delivered_total 4$/m);
    expect(text + JSON.stringify(events)).not.toContain(ADDRESS);
  });

  // F271: the mail server is down, or refuses a mail for now: it is sent again with the same id,
  // the later ones of its account wait, and nothing is lost.
  it('that the server refuses for now is sent again under the same id, before the later ones', async () => {
    const store = await openAt(await newPlace(kind));
    const accountId = await newAccount(store);
    await record(store, accountId, 50);
    await record(store, accountId, 80);
    const closed = await startMailServer();
    await closed.close();
    const away = deliver(store, closed);
    await until(() => away.counts.failed >= 2);
    expect((await statesOf(store, accountId))[0]).toEqual([
      'pending',
      expect.stringMatching(/^no valid response from the mail server to CONN: E/),
    ]);
    for (const cleanUp of cleanUps.splice(-1)) await cleanUp();

    let refusals = 2;
    const server = await mailServer({ mail: () => (refusals-- > 0 ? 451 : undefined) });
    const { counts } = deliver(store, server);
    await until(() => counts.delivered === 2);
    expect(server.received.map(shareOf)).toEqual([50, 50, 50, 80]);
    expect(new Set(server.received.slice(0, 3).map(idOf)).size).toBe(1);
    expect(server.received[0]?.headers['date']).toBe(server.received[2]?.headers['date']);
    await until(async () =>
      (await statesOf(store, accountId)).every(([state]) => state === 'delivered'),
    );
  });

  // F272: the process is killed after the mail server accepted a mail and before this is recorded:
  // the mail comes once more, with the same Message-ID, and the next one follows.
  it('comes at most twice if the sender is killed before it records that it was sent', async () => {
    const place = await newPlace(kind);
    const before = await openAt(place);
    const accountId = await newAccount(before);
    await record(before, accountId, 50);
    await record(before, accountId, 80);
    await cleanUps.pop()?.();

    let kill = (): void => undefined;
    const server = await mailServer({
      mail: () => {
        kill();
        return undefined;
      },
    });
    const program = join(__dirname, '../support/event-sender.ts');
    const args = ['--import', HOOKS, program, ...place, server.url, '500'];
    const sender = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    kill = () => sender.kill('SIGKILL');
    await new Promise((resolve) => sender.once('exit', resolve));
    expect(server.received.map(shareOf)).toEqual([50]);

    kill = () => undefined;
    const store = await openAt(place);
    const { counts } = deliver(store, server);
    await until(() => counts.delivered === 2);
    expect(server.received.map(shareOf)).toEqual([50, 50, 80]);
    const [first, second, third] = server.received.map(idOf);
    expect([second, third === first]).toEqual([first, false]);
  });

  // F273: the mail server refuses a recipient for good: the mail is given up at once, without the
  // server's words, and the mails of other accounts are sent.
  it('to a recipient that does not exist is given up, and others are sent', async () => {
    const server = await mailServer({
      recipient: (address) => (address.startsWith('nobody') ? 550 : undefined),
    });
    const store = await openAt(await newPlace(kind));
    const nobody = await newAccount(store, 'nobody@customer.example');
    const person = await newAccount(store);
    await record(store, nobody, 50);
    await record(store, person, 80);
    const { counts } = deliver(store, server);
    await until(() => counts.delivered + counts.givenUp === 2);
    await until(async () => (await statesOf(store, nobody))[0]?.[0] !== 'pending');
    expect(await statesOf(store, nobody)).toEqual([
      ['undelivered', 'the mail server responded with 550 to RCPT TO'],
    ]);
    expect(server.received.map(({ to }) => to)).toEqual([[ADDRESS]]);
  });

  // F274: an account is erased while mails for it wait: none is sent, and no address is left.
  it('is not sent to an account that was erased meanwhile', async () => {
    const server = await mailServer();
    const store = await openAt(await newPlace(kind));
    const [erased, other] = [await newAccount(store), await newAccount(store)];
    await record(store, erased, 50);
    await record(store, other, 80);
    await closeAny(store, erased);
    await store.eraseAccount(erased, { name: 'tests' });
    const { counts } = deliver(store, server);
    await until(() => counts.delivered === 1);
    await until(async () => (await statesOf(store, erased))[0]?.[0] === 'undelivered');
    expect(server.received.map(shareOf)).toEqual([80]);
    expect(counts).toEqual({ delivered: 1, failed: 0, givenUp: 0 });
    expect((await statesOf(store, erased))[0]?.[1]).toContain('has no address');
  });
});

// F275: two replicas deliver at once: each mail is sent by one of them.
it('two replicas on one PostgreSQL send each mail once', async () => {
  const place = await newPlace('postgres');
  const stores = [await openAt(place), await openAt(place)];
  const accounts = await Promise.all(Array.from({ length: 12 }, () => newAccount(stores[0]!)));
  for (const accountId of accounts) {
    for (const share of [50, 80, 90]) await record(stores[0]!, accountId, share);
  }
  const server = await mailServer();
  const senders = stores.map((store) => deliver(store, server));
  await until(() => senders.reduce((sum, { counts }) => sum + counts.delivered, 0) === 36);
  expect(new Set(server.received.map(idOf)).size).toBe(36);
  expect(server.received).toHaveLength(36);
});

describe('an address for notices', () => {
  // F276: an address has a line break, several recipients or no domain: refused, naming the field,
  // for customers and operators, and nothing is stored.
  it('is refused unless it is one address, naming the field', async () => {
    const gateway = await startTestGateway({
      env: { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'billing@example.com' },
    });
    cleanUps.push(() => gateway.stop());
    const { id, apiKey } = await gateway.createKey({ balance_usd: '1' });
    const { account_id } = await gateway.call('showKey', { key_id: id });
    const put = async (email: unknown) => {
      const response = await fetch(`${gateway.url}/v1/dashboard/notices`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ shares: [50], email }),
      });
      return [response.status, JSON.stringify(await response.json())] as const;
    };
    for (const email of [
      '',
      'person',
      'person@host',
      'person@example.com\r\nBcc: all@example.com',
      'person@example.com\n',
      'person@example.com, other@example.com',
      'Person <person@example.com>',
      '"a b"@example.com',
      'person@exa mple.com',
      'person@[127.0.0.1]',
      'pérson@example.com',
      `${'x'.repeat(65)}@example.com`,
      `x@${'a.'.repeat(130)}com`,
      5,
    ]) {
      const [status, text] = await put(email);
      expect([email, status, text]).toEqual([email, 400, expect.stringContaining('"email: ')]);
      await expect(
        gateway.call('updateAccount', { account_id, notice_email: email as string }),
      ).rejects.toThrow('notice_email');
    }
    expect((await gateway.call('showAccount', { account_id })).notice_email).toBeNull();
    const set = (notice_email: string | null) =>
      gateway.call('updateAccount', { account_id, notice_email });
    expect((await set("o'neill+x@xn--bcher-kva.example")).notice_email).toContain('xn--');
    expect((await put(undefined))[1]).toContain('xn--');
    // Others to whom the customer gives a link do not see it.
    const made = await fetch(`${gateway.url}/v1/dashboard/links`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: '{}',
    });
    const { link: token } = (await made.json()) as { link: string };
    const seen = await fetch(`${gateway.url}/v1/dashboard/notices`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(seen.status).toBe(401);
    expect((await put(null))[1]).toContain('"email":null');
  });

  // F375: an address for notices is set, and the gateway has no mail server: whoever sets it is
  // told so, and an address of earlier times stays readable and can be removed.
  it('cannot be set by operators of a gateway that sends no mail', async () => {
    const gateway = await startTestGateway();
    cleanUps.push(() => gateway.stop());
    const { id: account_id } = await gateway.call('createAccount', { name: 'a customer' });
    const refusal =
      /^notice_email: cannot be set, because this gateway sends no mail: set SMTP_URL/;
    await expect(
      gateway.call('createAccount', { name: 'another', notice_email: ADDRESS }),
    ).rejects.toThrow(refusal);
    await expect(
      gateway.call('updateAccount', { account_id, notice_email: ADDRESS }),
    ).rejects.toThrow(refusal);
    const DATA_DIR = mkdtempSync(join(tmpdir(), 'mail-notices-'));
    cleanUps.push(() => {
      rmSync(DATA_DIR, { recursive: true });
    });
    expect((await gatewayCommand(['migrate'], { DATA_DIR })).code).toBe(0);
    const create = ['accounts', 'create', '--name', 'x', '--notice-email', ADDRESS];
    const { code, err } = await gatewayCommand(create, { DATA_DIR });
    expect([code, err]).toEqual([1, expect.stringContaining('--notice-email: cannot be set')]);
    await gateway.running.appParts.store.updateAccount(
      account_id,
      { noticeEmail: ADDRESS },
      { name: 'tests' },
    );
    expect((await gateway.call('showAccount', { account_id })).notice_email).toBe(ADDRESS);
    const removed = await gateway.call('updateAccount', { account_id, notice_email: null });
    expect(removed.notice_email).toBeNull();
  });

  it('cannot be set by a customer of a gateway that sends no mail', async () => {
    const gateway = await startTestGateway();
    cleanUps.push(() => gateway.stop());
    const { apiKey } = await gateway.createKey({ balance_usd: '1' });
    const response = await fetch(`${gateway.url}/v1/dashboard/notices`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ shares: [50], email: ADDRESS }),
    });
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining('email: cannot be set, because this gateway sends no mail'),
    ]);
  });
});

// F278: SMTP_URL names the wrong server or has the wrong password: check-config says so and fails,
// without the password.
it('check-config logs in to the mail server, and names SMTP_URL if it cannot', async () => {
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'mail-notices-'));
  cleanUps.push(() => {
    rmSync(DATA_DIR, { recursive: true });
  });
  const check = (SMTP_URL: string) =>
    gatewayCommand(['check-config'], { DATA_DIR, SMTP_URL, MAIL_FROM: 'billing@example.com' });
  const server = await mailServer();
  const usable = await check(server.url);
  expect([usable.code, usable.out]).toEqual([
    0,
    expect.stringContaining('The mail server can be used.'),
  ]);
  const { pass } = LOGIN;
  const wrong = await check(
    `smtp://user:${encodeURIComponent(pass)}@127.0.0.1:${String(server.port)}`,
  );
  await server.close();
  const closed = await check(server.url);
  for (const { code, err } of [wrong, closed]) {
    expect([code, err]).toEqual([2, expect.stringMatching(/SMTP_URL: .*mail server/)]);
  }
  expect(wrong.out + wrong.err).not.toContain('word-of-the-mail-server');
  cleanUps.pop();
});

const EVENT: StoredEvent = {
  seq: 1n,
  id: 'evt_1',
  type: 'balance.exhausted',
  accountId: 'acct_1',
  keyId: undefined,
  data: { balance: '0.0' },
  createdAt: new Date(0),
  attempts: 0,
  deliveredAt: null,
  lastError: null,
  mail: 'pending',
  mailError: null,
};

// F380: a balance falls by a dispute, a refund or an expiry: no mail calls that use.
it.each([
  ['balance.exhausted', 'chargeback', 'Your balance is empty', /^A payment was disputed, /],
  [
    'balance.exhausted',
    'expiry',
    'Your balance is empty',
    /^Credit has expired\. Requests are refu/,
  ],
  ['balance.share', 'refund', 'Your balance is lower', /^A payment was refunded\. .* 20 % or less/],
])('a mail about %s by a %s never says that anything was used', (type, cause, subject, text) => {
  const event = { ...EVENT, type, data: { balance: '1.0', full: '5.0', share: '80', cause } };
  const mail = mailOf(event as typeof EVENT, ORIGIN);
  expect(mail.subject).toBe(subject);
  expect(mail.text).toMatch(text);
  expect(mail.text).not.toMatch(/\bused\b/);
});

it.each([
  ['key.new_model', { model: 'claude-x' }, 'A key uses a new model', 'Model: claude-x'],
  ['key.new_network', {}, 'A key is used from a new network', 'Key: key_1'],
  [
    'key.pace',
    { charged_usd: '7', usual_usd: '0.1' },
    'A key spends faster than usual',
    'Charged within one hour: 7 USD',
  ],
] as const)(
  'a mail about %s says which key it is, and whether it is suspended',
  (type, data, subject, line) => {
    for (const action of ['notify', 'suspend']) {
      const mail = mailOf({ ...EVENT, type, keyId: 'key_1', data: { ...data, action } }, ORIGIN);
      expect(mail.subject).toBe(subject);
      expect(mail.text.split('\n')).toEqual(expect.arrayContaining([line, 'Key: key_1']));
      expect(mail.text.includes('The key is suspended.')).toBe(action === 'suspend');
    }
  },
);

describe('the client of the mail server', () => {
  const urlOf = (server: MailServer, { user, pass } = LOGIN) =>
    `smtp://${encodeURIComponent(user)}:${encodeURIComponent(pass)}@localhost:${String(server.port)}`;
  const mail = mailOf(EVENT, ORIGIN);
  const send = (client: ReturnType<typeof createMailClient>) =>
    client.send(ADDRESS, mail, new AbortController().signal);

  it('logs in over TLS, and reports a refused log-in without the password', async () => {
    const tls = makeCertificate();
    const server = await mailServer({ tls, needsLogin: true });
    const clientOf = (url: string) =>
      createMailClient({ server: smtpUrl.parse(url), from: SENDER, ca: tls.cert });
    expect(await clientOf(urlOf(server)).verify()).toBeUndefined();
    expect(await send(clientOf(urlOf(server)))).toEqual({ outcome: 'delivered' });
    expect(server.received[0]).toMatchObject({ isEncrypted: true, to: [ADDRESS] });
    const wrong = clientOf(urlOf(server, { ...LOGIN, pass: 'another password' }));
    expect(await wrong.verify()).toBe('the mail server responded with 535 to AUTH');
    expect(await send(wrong)).toEqual({
      outcome: 'failed',
      reason: 'the mail server responded with 535 to AUTH',
    });
  });

  // F277: somebody between the gateway and the mail server hides STARTTLS, or has another
  // certificate: neither the log-in nor a mail is sent.
  it('sends no log-in without TLS, and none to a server with another certificate', async () => {
    const server = await mailServer({ needsLogin: true });
    const from = SENDER;
    const plain = createMailClient({ server: smtpUrl.parse(urlOf(server)), from });
    expect(await send(plain)).toMatchObject({ outcome: 'failed' });
    expect(await plain.verify()).toContain('STARTTLS');
    const tls = makeCertificate();
    const other = await mailServer({ tls, needsLogin: true });
    const wary = createMailClient({ server: smtpUrl.parse(urlOf(other)), from });
    expect(await send(wary)).toMatchObject({ outcome: 'failed' });
    expect([server.logins(), server.received, other.logins(), other.received]).toEqual([
      0,
      [],
      0,
      [],
    ]);
  });

  it('gives up a server that does not answer, and stops when it is asked to', async () => {
    const PATIENT = 'patient@customer.example';
    const stop = new AbortController();
    const server = await mailServer({
      mail: ({ to }) => {
        if (to[0] === PATIENT) stop.abort();
        return new Promise<undefined>(() => undefined);
      },
    });
    const from = SENDER;
    // On a busy machine it gives up before the server has the whole mail.
    const hasty = createMailClient({ server: smtpUrl.parse(server.url), from, timeoutMs: 200 });
    expect(await send(hasty)).toMatchObject({
      outcome: 'failed',
      reason: expect.stringMatching(/more than 0.2 s|no valid response/),
    });
    const patient = createMailClient({ server: smtpUrl.parse(server.url), from });
    expect(await patient.send(PATIENT, mail, stop.signal)).toEqual({ outcome: 'stopped' });
    expect(server.received.at(-1)?.to).toEqual([PATIENT]);
  });
});
