/** The database fails or becomes slow while streams run: no charge is lost or made twice. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import { startPostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { OwnPostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { startGatedUpstream } from '../support/gated-upstream.js';
import type { GatedUpstream } from '../support/gated-upstream.js';
import { postChat, postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { startSlowLink } from '../support/slow-link.js';

const BALANCE = '100';

let postgres: OwnPostgresServer;
let link: Awaited<ReturnType<typeof startSlowLink>>;
let upstream: GatedUpstream;
let gateway: TestGateway;
/** The number of answers that the upstream had sent before this test. */
let servedBefore = 0;
beforeAll(async () => {
  postgres = await startPostgresServer();
  link = await startSlowLink(await postgres.createDatabase());
  upstream = await startGatedUpstream();
  gateway = await startTestGateway({
    env: {
      UPSTREAM_URL: upstream.url,
      DATABASE_URL: link.url,
      KEY_PEPPER: 'pepper of the outage tests',
      ADMIN_TOKEN: 'admin-token-of-the-tests',
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
  await link.stop();
  await postgres.stop();
});
beforeEach(async () => {
  upstream.open();
  servedBefore = upstream.served.length;
  await untilChargeable(true);
});

async function untilChargeable(isChargeable: boolean): Promise<void> {
  const { store } = gateway.running.appParts;
  while ((store.charging().fault === undefined) !== isChargeable) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** What the upstream has served in this test so far. */
const served = () => upstream.served.slice(servedBefore);

/** The charge of {@link served}. */
function servedCharge(): bigint {
  return served().reduce(
    (sum, { input, output }) =>
      sum + BigInt(input) * 300_000_000n + BigInt(output) * 1_500_000_000n,
    0n,
  );
}

async function expectChargedExactly(keyId: string): Promise<void> {
  const key = await gateway.call('showKey', { key_id: keyId });
  expect(key.spent_usd).toBe(formatUsd(servedCharge()));
  expect(key.balance_usd).toBe(formatUsd(parseUsd(BALANCE) - servedCharge()));
  expect(await gateway.call('auditLedger', {})).toMatchObject({ is_sound: true, gap_usd: '0' });
}

/** Collects a stream as it arrives. */
async function collect(response: Response, into: { text: string }): Promise<void> {
  const decoder = new TextDecoder();
  for await (const piece of response.body!) into.text += decoder.decode(piece, { stream: true });
}

describe('a database that cannot be reached', () => {
  // F62
  // F8: PostgreSQL down for a minute: new requests 503 with `retry-after`, streams wait, 0 lost.
  // Here PostgreSQL is down until a stream has got a keep-alive event; the torture with `--gate`
  // stops it for a minute. If a charge waits for more than 90 s, the client gets an error, nothing
  // is charged, and the loss is counted.
  // F165: the ledger is away: what balancers see: `/readyz` answers 200 `degraded`, so clients get
  // the gateway's own 503 with `retry-after`.
  it('makes new requests fail with 503 and retry-after; running streams wait until the database is back, and complete', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: BALANCE });
    upstream.shut();
    const streams = Array.from({ length: 10 }, () => ({ text: '' }));
    const ends = await Promise.all(
      streams.map(async (stream, index) => {
        const post = index % 2 === 0 ? postMessages : postChat;
        const response = await post(gateway, apiKey, userMessage('Hello', { stream: true }));
        expect(response.status).toBe(200);
        return { done: collect(response, stream) };
      }),
    );
    await postgres.stopImmediately();
    upstream.open();

    for (const post of [postMessages, postChat]) {
      const refused = await post(gateway, apiKey, userMessage('Hello'));
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await refused.json()).error.type).toBe('api_error');
    }
    const balance = await fetch(`${gateway.url}/v1/dashboard/balance`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(balance.status).toBe(503);
    // A key whose checksum is wrong is refused without the database.
    for (const wrong of ['gw_', `${apiKey.slice(0, -1)}${apiKey.endsWith('0') ? '1' : '0'}`]) {
      expect((await postMessages(gateway, wrong, userMessage('Hello'))).status).toBe(401);
    }
    // Every replica is in the same state, and a balancer must not take all of them away.
    await untilChargeable(false);
    const readiness = await fetch(`${gateway.url}/readyz`);
    expect([readiness.status, await readiness.json()]).toEqual([200, { status: 'degraded' }]);
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);

    // Until the upstream has served all streams, and each client has received a keep-alive event.
    while (served().length < 10 || !hasSignOfLife(streams)) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    for (const { text } of streams) {
      expect(text).not.toMatch(/message_stop|message_delta|\[DONE\]|"usage":\{"prompt/);
    }
    await postgres.start();
    await Promise.all(ends.map(({ done }) => done));
    streams.forEach(({ text }, index) => {
      expect(text).toMatch(index % 2 === 0 ? /event: message_stop\n/ : /data: \[DONE\]\n/);
    });
    await expectChargedExactly(id);
    await untilChargeable(true);
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
  });

  // F41
  it('only delays the charge of a client that has left, which is made once', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: BALANCE });
    const leaving = new AbortController();
    upstream.shut();
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: {
        'x-api-key': apiKey,
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
      },
      body: JSON.stringify(userMessage('Hello', { stream: true })),
      signal: leaving.signal,
    });
    const requestId = response.headers.get('x-gateway-request-id');
    await postgres.stopImmediately();
    upstream.open();
    while (served().length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    leaving.abort();
    await postgres.start();
    while (gateway.running.appParts.store.pendingSettlements() > 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await expectChargedExactly(id);
    const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
    expect(data.map((entry) => entry.id)).toEqual([requestId]);
  });
});

describe('a database that refuses writes', () => {
  // F26, F163
  // F11: PostgreSQL read-only or full: new requests 503, streams wait, then complete; nothing lost.
  // A full disk is tested with the embedded ledger (F26). PostgreSQL refuses writes in the same
  // way, with a temporary error.
  it('makes new requests fail with 503; running streams wait until the database accepts writes, and no charge is lost', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: BALANCE });
    upstream.shut();
    const streams = Array.from({ length: 10 }, () => ({ text: '' }));
    const ends = await Promise.all(
      streams.map(async (stream, index) => {
        const post = index % 2 === 0 ? postMessages : postChat;
        const response = await post(gateway, apiKey, userMessage('Hello', { stream: true }));
        expect(response.status).toBe(200);
        return { done: collect(response, stream) };
      }),
    );
    const statusOf = async () => {
      const response = await postMessages(gateway, apiKey, userMessage('Hello'));
      await response.text();
      return response.status;
    };
    const readiness = async () =>
      ((await (await fetch(`${gateway.url}/readyz`)).json()) as { status: string }).status;
    expect(await readiness()).toBe('ready');
    await postgres.setReadOnly(link.url, 'on');
    upstream.open();
    await untilChargeable(false);
    expect(await readiness()).toBe('degraded');
    // No request is sent upstream to find out whether it can be charged.
    for (let attempt = 0; attempt < 5; attempt += 1) expect(await statusOf()).toBe(503);
    while (served().length < streams.length) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(await statusOf()).toBe(503);
    expect(served()).toHaveLength(streams.length);
    for (const { text } of streams) {
      expect(text).not.toMatch(/message_stop|message_delta|\[DONE\]|"usage":\{"prompt/);
    }
    await postgres.setReadOnly(link.url, 'off');
    await Promise.all(ends.map(({ done }) => done));
    streams.forEach(({ text }, index) => {
      expect(text).toMatch(index % 2 === 0 ? /event: message_stop\n/ : /data: \[DONE\]\n/);
    });
    while (gateway.running.appParts.store.pendingSettlements() > 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await expectChargedExactly(id);
    await untilChargeable(true);
    expect(await readiness()).toBe('ready');
    expect(await statusOf()).toBe(200);
  });

  // F163
  it('is noticed without any request: the first one is refused, and not sent upstream', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: BALANCE });
    await postgres.setReadOnly(link.url, 'on');
    await untilChargeable(false);
    const refused = await postMessages(gateway, apiKey, userMessage('Hello'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    expect(served()).toEqual([]);
    const metrics = await fetch(`${gateway.adminUrl}/metrics`, {
      headers: { authorization: 'Bearer admin-token-of-the-tests' },
    });
    expect(await metrics.text()).toMatch(/\ngateway_ledger_chargeable 0\n/);
    await postgres.setReadOnly(link.url, 'off');
    await untilChargeable(true);
    await expectChargedExactly(id);
  });
});

describe('a database that is slow', () => {
  // F9: PostgreSQL slow: 1 s: requests are slow, none fails. 6 s: new requests 503, streams
  // complete. Differs: the expectation was a 503 only for requests beyond a cap. An admission read
  // of more than 5 s counts as an outage, because the gateway cannot distinguish the two, and a
  // client that retries elsewhere is served sooner. Running streams wait for their charge, and none
  // is lost.
  it('makes requests slow, and none fails', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: BALANCE });
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
    link.setDelay(1_000);
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const post = index % 2 === 0 ? postMessages : postChat;
        const response = await post(gateway, apiKey, userMessage('Hello', { stream: true }));
        return { status: response.status, text: await response.text() };
      }),
    );
    link.setDelay(0);
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      expect(text).toMatch(/message_stop|\[DONE\]/);
    }
    await expectChargedExactly(id);
  });

  it.each([
    ['native', postMessages, 'text_delta', 'message_stop'],
    ['chat', postChat, '"content":"', '[DONE]'],
  ] as const)(
    'delays only the end of a %s stream, even if all of it arrived in one piece',
    async (_format, post, text, end) => {
      const { id, apiKey } = await gateway.createKey({ balance_usd: BALANCE });
      link.setDelay(1_000);
      const response = await post(gateway, apiKey, userMessage('Hello', { stream: true }));
      const pieces: string[] = [];
      for await (const piece of response.body!) pieces.push(new TextDecoder().decode(piece));
      link.setDelay(0);
      expect(pieces[0]).toContain(text);
      expect(pieces[0]).not.toContain(end);
      expect(pieces.at(-1)).toContain(end);
      await expectChargedExactly(id);
    },
  );

  // F9
  it('by more than five seconds makes new requests fail with 503, and running ones complete', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: BALANCE });
    upstream.shut();
    const running = await postMessages(gateway, apiKey, userMessage('Hello', { stream: true }));
    expect(running.status).toBe(200);
    link.setDelay(6_000);
    upstream.open();
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(503);
    expect(await running.text()).toContain('message_stop');
    link.setDelay(0);
    await expectChargedExactly(id);
  });
});

/** Whether each stream has had a ping (native format) or a comment (chat format). */
function hasSignOfLife(streams: readonly { readonly text: string }[]): boolean {
  return streams.every(({ text }) => /\nevent: ping\n|\n: \S/.test(text));
}
