/**
 * A client can make a response large, such as by documents that the upstream fetches. The response
 * is charged exactly, whether it can be passed on or not.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { formatUsd } from '@gateway/billing';
import { ENDPOINTS, POSTS, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { readMetric } from '../support/metrics.js';
import { eventually, until } from '../support/until.js';

const MEBIBYTE = 1024 * 1024;
/** The limit of an event is 32 MiB, and that of a plain response is 64 MiB. */
const OVER_32 = 33;
/** 2 tokens at 3 USD and 3 at 15 USD per million. */
const CHARGE = formatUsd(2n * 300_000_000n + 3n * 1_500_000_000n);

/** The events, or the body, of the next response. */
let pieces: readonly string[] = [];
/** What happens to the next response once its pieces are written: by default, it ends. */
let finish = (res: ServerResponse): void => void res.end();
const upstream = createServer((req, res) => {
  req.resume().on('end', () => {
    const isStream = pieces.length > 1;
    res.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    for (const piece of pieces) res.write(piece);
    finish(res);
  });
});

/** Keeps the next response open until one of these functions is called. */
function holdEnds() {
  let held: ServerResponse | undefined;
  finish = (res) => {
    held = res;
    finish = (next) => void next.end();
  };
  return {
    end: (rest: string) => held?.end(rest),
    destroy: () => held?.destroy(),
  };
}

interface Event {
  readonly type: string;
  readonly [member: string]: unknown;
}

function event(data: Event, lines = `event: ${data.type}\n`): string {
  return `${lines}data: ${JSON.stringify(data)}\n\n`;
}

const START = event({
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [],
    model: 'm',
    stop_reason: null,
    usage: { input_tokens: 2, output_tokens: 1 },
  },
});
const END = [
  event({ type: 'content_block_stop', index: 0 }),
  event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } }),
  event({ type: 'message_stop' }),
];

function documentOf(mebibytes: number) {
  const source = { type: 'base64', media_type: 'application/pdf', data: dataOf(mebibytes) };
  return { type: 'web_fetch_tool_result', content: { type: 'document', source } };
}

function dataOf(mebibytes: number): string {
  return 'JVBERi0x'.repeat((mebibytes * MEBIBYTE) / 8);
}

beforeAll(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
});

// What becomes of a response depends on its dialect, and how it is charged on OVERDRAFT.
describe.each([
  ['bounded', [20, OVER_32], ENDPOINTS],
  ['none', [OVER_32], ['messages']],
] as const)('with OVERDRAFT=%s,', (OVERDRAFT, sizes, dialects) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    const { port } = upstream.address() as AddressInfo;
    const UPSTREAM_URL = `http://127.0.0.1:${String(port)}`;
    gateway = await startTestGateway({ env: { UPSTREAM_URL, OVERDRAFT } });
  });
  afterAll(() => gateway.stop());

  async function expectCharged(keyId: string): Promise<void> {
    await eventually(async () => {
      const { data } = await gateway.call('listLedger', { key_id: keyId, kind: 'charge' });
      expect(data).toMatchObject([{ amount_usd: `-${CHARGE}`, upstream_id: 'msg_1' }]);
    });
    const audit = await gateway.call('auditLedger', {});
    expect(audit).toMatchObject({ is_sound: true, gap_usd: '0', quarantined: 0 });
  }

  async function ask(dialect: keyof typeof POSTS, stream: boolean) {
    const { id, apiKey } = await gateway.createKey();
    const response = await POSTS[dialect](gateway, apiKey, userMessage('Hello', { stream }));
    return { id, status: response.status, text: await response.text() };
  }

  // F141: one event of a stream is larger than 32 MiB: charged; passed on if it is content, else
  // the stream ends in error.
  it.each(sizes)(
    'a native stream with a content event of %i MiB is passed on as it is, and charged',
    async (mebibytes) => {
      const large = { type: 'content_block_start', index: 0, content_block: documentOf(mebibytes) };
      pieces = [START, event(large), ...END];
      const { id, text } = await ask('messages', true);
      expect(text === pieces.join('')).toBe(true);
      await expectCharged(id);
    },
  );

  // F454: one output of a stream is larger than what is kept for a client that reads slowly: it was
  // not counted.
  it('counts a large event until its client has read it', async () => {
    const { id, apiKey } = await gateway.createKey();
    const block = { type: 'text', text: dataOf(20) };
    pieces = [
      START,
      event({ type: 'content_block_start', index: 0, content_block: block }),
      ...END,
    ];
    const streamed = userMessage('Hello', { stream: true });
    const response = await POSTS['chat.completions'](gateway, apiKey, streamed);
    // Its charge is made once the whole stream was read.
    await expectCharged(id);
    await until(() => gateway.running.appParts.memory.reservedBytes > MEBIBYTE);
    expect(await response.text()).toContain('[DONE]');
    await until(() => gateway.running.appParts.memory.reservedBytes === 0);
  });

  // F141
  it.each(dialects)(
    '%s: a stream with an event that is too large to pass on ends with an error, and is charged',
    async (dialect) => {
      // Its type comes last, so nothing shows that it is not the event with the usage.
      const large = { index: 0, content_block: documentOf(OVER_32), type: 'content_block_start' };
      pieces = [START, event(large, ''), ...END];
      const { id, text } = await ask(dialect, true);
      expect(text.length).toBeLessThan(10_000);
      expect(text).toMatch(/"error":\{.*oversized event/);
      expect(text).not.toMatch(/message_stop|\[DONE\]|response\.completed/);
      await expectCharged(id);
    },
  );

  // F142: a plain response is larger than 64 MiB: charged; the client gets a 502 that says so.
  it.each(dialects)(
    '%s: a plain response that is too large to pass on becomes an error that says so, and is charged',
    async (dialect) => {
      const message = {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [documentOf(OVER_32), documentOf(OVER_32)],
        stop_reason: 'end_turn',
        usage: { input_tokens: 2, output_tokens: 3 },
      };
      pieces = [JSON.stringify(message)];
      const { id, status, text } = await ask(dialect, false);
      expect(status).toBe(502);
      expect(text).toContain('too large to pass on; it was charged');
      await expectCharged(id);
    },
  );
});

describe('the memory of a response', () => {
  const budget = 16 * MEBIBYTE;
  let gateway: TestGateway;
  beforeAll(async () => {
    const { port } = upstream.address() as AddressInfo;
    gateway = await startTestGateway({
      env: {
        UPSTREAM_URL: `http://127.0.0.1:${String(port)}`,
        MAX_BODY_BYTES: String(4 * MEBIBYTE),
        BODY_MEMORY_BYTES: String(budget),
      },
    });
  });
  afterAll(() => gateway.stop());

  const message = JSON.stringify({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: dataOf(3) }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 2, output_tokens: 3 },
  });
  const reservedBytes = async () =>
    (await readMetric(gateway, 'gateway_memory_reserved_bytes')) ?? NaN;

  /** Takes what other customers may have, but a mebibyte. */
  function fillMemory(): { release(): void } {
    const { memory } = gateway.running.appParts;
    const reservations = [8, 4, 2, 1].map((mebibytes) => {
      const reservation = memory.open(`acct_${String(mebibytes)}`);
      reservation.resize(mebibytes * MEBIBYTE);
      return reservation;
    });
    return {
      release() {
        for (const each of reservations) each.release();
      },
    };
  }

  async function expectOneCharge(keyId: string): Promise<void> {
    await eventually(async () => {
      const { data } = await gateway.call('listLedger', { key_id: keyId, kind: 'charge' });
      expect(data).toMatchObject([{ amount_usd: `-${CHARGE}`, upstream_id: 'msg_1' }]);
    });
  }

  // F394: large plain responses arrive at once: sixteen of 58 MiB took 2.3 GB, because their memory
  // was not counted. It is reserved as they arrive; without memory the upstream waits.
  it.each(ENDPOINTS)('%s: is reserved as it arrives, until the client has it', async (dialect) => {
    const { id, apiKey } = await gateway.createKey();
    pieces = [message.slice(0, 2 * MEBIBYTE)];
    const held = holdEnds();
    const asked = POSTS[dialect](gateway, apiKey, userMessage('Hello'));
    await until(async () => (await reservedBytes()) >= 2 * MEBIBYTE);
    held.end(message.slice(2 * MEBIBYTE));
    const response = await asked;
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('JVBERi0x');
    await until(async () => (await reservedBytes()) === 0);
    await expectOneCharge(id);
  });

  // F453: a translation is larger than the upstream's answer: only the smaller one was counted.
  it('is that of the translation once there is one', async () => {
    const { id, apiKey } = await gateway.createKey();
    const content = Array.from({ length: 20_000 }, () => ({ type: 'text', text: 'Hi' }));
    const untranslated = JSON.stringify({ ...(JSON.parse(message) as object), content });
    pieces = [untranslated];
    const { memory } = gateway.running.appParts;
    const open = memory.open.bind(memory);
    const reserved: number[] = [];
    const opened = jest.spyOn(memory, 'open').mockImplementation((accountId) => {
      const reservation = open(accountId);
      return {
        ...reservation,
        resize(bytes) {
          reserved.push(bytes);
          return reservation.resize(bytes);
        },
      };
    });
    const response = await POSTS.responses(gateway, apiKey, userMessage('Hello'));
    opened.mockRestore();
    expect(Math.max(...reserved)).toBeGreaterThan(untranslated.length);
    expect((await response.text()).length).toBeGreaterThanOrEqual(Math.max(...reserved));
    await expectOneCharge(id);
  });

  // F394
  it('is waited for while others have it', async () => {
    const { id, apiKey } = await gateway.createKey();
    const others = fillMemory();
    pieces = [message];
    const opened = jest.spyOn(gateway.running.appParts.memory, 'open');
    const asked = POSTS.messages(gateway, apiKey, userMessage('Hello'));
    // For its body, then for its response.
    await until(() => opened.mock.calls.length === 2);
    opened.mockRestore();
    others.release();
    const response = await asked;
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(message);
    await expectOneCharge(id);
  });

  // F394
  it.each(ENDPOINTS)(
    '%s: if there is none for long, only the usage is read, charged, and the client is told',
    async (dialect) => {
      const { patience } = gateway.running.appParts;
      const others = fillMemory();
      try {
        Object.assign(gateway.running.appParts, { patience: { ...patience, clientPausesMs: 200 } });
        const { id, apiKey } = await gateway.createKey();
        const before = await reservedBytes();
        pieces = [message];
        const response = await POSTS[dialect](gateway, apiKey, userMessage('Hello'));
        expect(response.status).toBe(502);
        expect(await response.text()).toContain('too large to pass on; it was charged');
        expect(await reservedBytes()).toBe(before);
        await expectOneCharge(id);
        // Small responses need no memory of others.
        pieces = [message.replace(dataOf(3), 'Hi')];
        expect((await POSTS[dialect](gateway, apiKey, userMessage('Hello'))).status).toBe(200);
      } finally {
        Object.assign(gateway.running.appParts, { patience });
        others.release();
      }
    },
  );

  // F394
  it('is given back if the response breaks off, or its client has left', async () => {
    const { apiKey } = await gateway.createKey();
    for (const end of ['breaks', 'leaves'] as const) {
      pieces = [message.slice(0, 2 * MEBIBYTE)];
      const held = holdEnds();
      const leaving = new AbortController();
      const asked = fetch(`${gateway.url}/v1/messages`, {
        method: 'POST',
        headers: {
          'x-api-key': apiKey,
          'anthropic-version': '2023-06-01',
          'content-type': 'application/json',
        },
        body: JSON.stringify(userMessage('Hello')),
        signal: leaving.signal,
      }).then((response) => response.status);
      await until(async () => (await reservedBytes()) >= 2 * MEBIBYTE);
      if (end === 'breaks') {
        held.destroy();
        expect(await asked).toBe(502);
      } else {
        leaving.abort();
        await expect(asked).rejects.toThrow();
        held.end(message.slice(2 * MEBIBYTE));
      }
      await until(async () => (await reservedBytes()) === 0);
    }
  });

  describe('that is a stream', () => {
    const text = { index: 0, content_block: { type: 'text', text: dataOf(3) } };
    // Its type comes last, so nothing shows that it is not the event with the usage.
    const opaque = event({ ...text, type: 'content_block_start' }, '');
    const halves = [opaque.slice(0, 2 * MEBIBYTE), opaque.slice(2 * MEBIBYTE)] as const;
    const streamed = userMessage('Hello', { stream: true });

    // F452: events of many streams are incomplete: up to 32 MiB of each are held, uncounted. They
    // are reserved as they arrive; without memory the upstream waits.
    it.each(ENDPOINTS)(
      '%s: is reserved for an incomplete event, until its end',
      async (dialect) => {
        const { id, apiKey } = await gateway.createKey();
        pieces = [START, halves[0]];
        const held = holdEnds();
        const asked = POSTS[dialect](gateway, apiKey, streamed);
        await until(async () => (await reservedBytes()) >= MEBIBYTE);
        held.end(halves[1] + END.join(''));
        const received = await (await asked).text();
        expect(received).toContain('JVBERi0x');
        expect(received).toMatch(/message_stop|\[DONE\]|response\.completed/);
        await until(async () => (await reservedBytes()) === 0);
        await expectOneCharge(id);
      },
    );

    // F452
    it.each(ENDPOINTS)('%s: is waited for while others have it', async (dialect) => {
      const { id, apiKey } = await gateway.createKey();
      const others = fillMemory();
      pieces = [START, opaque, ...END];
      const opened = jest.spyOn(gateway.running.appParts.memory, 'open');
      const asked = POSTS[dialect](gateway, apiKey, streamed);
      // For its body, then for its event.
      await until(() => opened.mock.calls.length === 2);
      opened.mockRestore();
      others.release();
      const received = await (await asked).text();
      expect(received).toMatch(/message_stop|\[DONE\]|response\.completed/);
      expect(received).not.toContain('oversized');
      await expectOneCharge(id);
    });

    // F452
    it.each(ENDPOINTS)(
      '%s: if there is none for long, the stream ends with an error, and is charged',
      async (dialect) => {
        const { patience } = gateway.running.appParts;
        const others = fillMemory();
        try {
          const brief = { patience: { ...patience, clientPausesMs: 200 } };
          Object.assign(gateway.running.appParts, brief);
          const { id, apiKey } = await gateway.createKey();
          const before = await reservedBytes();
          pieces = [START, opaque, opaque, ...END];
          const received = await (await POSTS[dialect](gateway, apiKey, streamed)).text();
          expect(received).toMatch(/"error":\{.*oversized event/);
          expect(received).not.toMatch(/message_stop|\[DONE\]|response\.completed/);
          expect(await reservedBytes()).toBe(before);
          await expectOneCharge(id);
        } finally {
          Object.assign(gateway.running.appParts, { patience });
          others.release();
        }
      },
    );

    // F452
    it('is not needed for content of a native stream, which passes as it arrives', async () => {
      const { id, apiKey } = await gateway.createKey();
      const others = fillMemory();
      try {
        const before = await reservedBytes();
        pieces = [START, event({ type: 'content_block_start', ...text }), ...END];
        const received = await (await POSTS.messages(gateway, apiKey, streamed)).text();
        expect(received === pieces.join('')).toBe(true);
        await until(async () => (await reservedBytes()) === before);
        await expectOneCharge(id);
      } finally {
        others.release();
      }
    });

    // F452
    it('is given back if the stream breaks off within an event', async () => {
      const { apiKey } = await gateway.createKey();
      pieces = [START, halves[0]];
      const held = holdEnds();
      const asked = POSTS.messages(gateway, apiKey, streamed);
      await until(async () => (await reservedBytes()) >= MEBIBYTE);
      held.destroy();
      expect(await (await asked).text()).toContain('event: error');
      await until(async () => (await reservedBytes()) === 0);
    });
  });
});
