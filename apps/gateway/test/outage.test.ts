/** The database fails or becomes slow while streams run: no charge is lost or made twice. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import { startPostgresServer } from '../../../packages/balance-store/test/postgres-server.js';
import type { OwnPostgresServer } from '../../../packages/balance-store/test/postgres-server.js';
import { postChat, postMessages, startTestGateway, userMessage } from './support/gateway.js';
import type { TestGateway } from './support/gateway.js';
import { startSlowLink } from './support/slow-link.js';

const BALANCE = '100';

let postgres: OwnPostgresServer;
let link: Awaited<ReturnType<typeof startSlowLink>>;
let gateway: TestGateway;
beforeAll(async () => {
  postgres = await startPostgresServer();
  link = await startSlowLink(await postgres.createDatabase());
  gateway = await startTestGateway({
    env: {
      DATABASE_URL: link.url,
      KEY_PEPPER: 'pepper of the outage tests',
      ADMIN_TOKEN: 'admin-token-of-the-tests',
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await link.stop();
  await postgres.stop();
});
beforeEach(() => {
  gateway.simulator.reset();
});

/** The charge of everything that the upstream has served so far. */
function servedCharge(): bigint {
  return gateway.simulator.journal
    .usages()
    .reduce(
      (sum, { usage }) =>
        sum +
        BigInt(Number(usage['input_tokens'])) * 300_000_000n +
        BigInt(Number(usage['output_tokens'])) * 1_500_000_000n,
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
  it('makes new requests fail with 503 and retry-after; running streams wait until the database is back, and complete', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: BALANCE });
    gateway.simulator.scriptWhen(() => true, { eventDelayMs: 20 });
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
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(503);
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);

    // Until the upstream has served all streams, and each client has received a keep-alive event.
    while (gateway.simulator.journal.usages().length < 10 || !hasSignOfLife(streams)) {
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
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
  });

  it('only delays the charge of a client that has left, which is made once', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: BALANCE });
    const leaving = new AbortController();
    gateway.simulator.script({ eventDelayMs: 20 });
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
    while (gateway.simulator.journal.usages().length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    leaving.abort();
    await postgres.start();
    while (gateway.running.services.store.pendingSettlements() > 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await expectChargedExactly(id);
    const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
    expect(data.map((entry) => entry.id)).toEqual([requestId]);
  });
});

describe('a database that refuses writes', () => {
  it('makes new requests fail with 503; running streams wait until the database accepts writes, and no charge is lost', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: BALANCE });
    gateway.simulator.scriptWhen(() => true, { eventDelayMs: 20 });
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
    await postgres.setReadOnly(link.url, 'on');
    // This ends the gateway's connections. After the gateway has connected again, its reads succeed
    // and only its writes fail.
    const readiness = async () => (await fetch(`${gateway.url}/readyz`)).status;
    while ((await readiness()) !== 200) await new Promise((resolve) => setTimeout(resolve, 10));
    // The gateway therefore notices only by charges that fail: those of the streams, and of
    // requests before the 503.
    const statuses: number[] = [];
    const later: Promise<unknown>[] = [];
    while (!statuses.includes(503)) {
      later.push(statusOf().then((status) => statuses.push(status)));
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(statuses).toEqual([503]);
    expect(await readiness()).toBe(200);
    while (gateway.simulator.journal.usages().length < streams.length + later.length - 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    for (const { text } of streams) {
      expect(text).not.toMatch(/message_stop|message_delta|\[DONE\]|"usage":\{"prompt/);
    }
    await postgres.setReadOnly(link.url, 'off');
    await Promise.all(ends.map(({ done }) => done));
    streams.forEach(({ text }, index) => {
      expect(text).toMatch(index % 2 === 0 ? /event: message_stop\n/ : /data: \[DONE\]\n/);
    });
    await Promise.all(later);
    expect(statuses).toEqual([503, ...Array<number>(later.length - 1).fill(200)]);
    while (gateway.running.services.store.pendingSettlements() > 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await expectChargedExactly(id);
    expect(await statusOf()).toBe(200);
  });
});

describe('a database that is slow', () => {
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
    60_000,
  );

  it('by more than five seconds makes new requests fail with 503, and running ones complete', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: BALANCE });
    gateway.simulator.script({ eventDelayMs: 20 });
    const running = await postMessages(gateway, apiKey, userMessage('Hello', { stream: true }));
    expect(running.status).toBe(200);
    link.setDelay(6_000);
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
