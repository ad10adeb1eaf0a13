/**
 * Clients that misuse connections: slow or idle ones, too many of them, and requests whose end is
 * ambiguous.
 */

import { once } from 'node:events';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createByteBudget } from '../../src/base/byte-budget.js';
import { HOUR_MS } from '../../src/base/times.js';
import { waitForClientOf } from '../../src/http/departures.js';
import {
  close,
  connectionsOn,
  createHttpServer,
  drain,
  listen,
} from '../../src/http/http-server.js';
import type { ConnectionLimits } from '../../src/http/http-server.js';
import type { FinishedRequest } from '../../src/observe/finished-request.js';
import { createApp } from '../../src/process/app.js';
import type { AppParts } from '../../src/process/app.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { until } from '../support/until.js';

let gateway: TestGateway;
let apiKey: string;
const cleanUps: (() => Promise<void> | void)[] = [];
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ apiKey } = await gateway.createKey());
});
beforeEach(() => {
  gateway.simulator.reset();
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(() => gateway.stop());

/** Serves the same gateway on another port, with shorter timeouts. */
async function serveWith(
  limits: Partial<ConnectionLimits>,
  parts: Partial<AppParts> = {},
): Promise<{ url: string; port: number; server: ReturnType<typeof createHttpServer> }> {
  const server = createHttpServer(createApp({ ...gateway.running.appParts, ...parts }), {
    headersTimeoutMs: 1_500,
    requestTimeoutMs: 3_000,
    uploadStallMs: 1_500,
    uploadMaxMs: 60_000,
    clientStallMs: 60_000,
    checkEveryMs: 50,
    idleTimeoutMs: 400,
    maxConnections: 1_000,
    ...limits,
  });
  await listen(server, { host: '127.0.0.1', port: 0 });
  cleanUps.push(async () => {
    server.closeAllConnections();
    await close(server);
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${String(port)}`, port, server };
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  cleanUps.push(() => {
    socket.destroy();
  });
  await once(socket, 'connect');
  return socket;
}

const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.closed) resolve();
    socket.resume().once('close', () => {
      resolve();
    });
  });

const HEAD = [
  'POST /v1/messages HTTP/1.1',
  'Host: gateway',
  'Content-Type: application/json',
  'Anthropic-Version: 2023-06-01',
];
const BODY = JSON.stringify(userMessage('Hello'));

function expectJson(answer: string, body: object): void {
  const [head = '', text = ''] = answer.split('\r\n\r\n');
  expect(head.toLowerCase()).toContain('x-gateway-request-id: req_');
  expect(head.toLowerCase()).toContain('connection: close');
  expect(head.toLowerCase()).toContain(`content-length: ${String(Buffer.byteLength(text))}`);
  expect(JSON.parse(text)).toMatchObject(body);
}

function trickle(socket: Socket, text: string): void {
  let at = 0;
  const timer = setInterval(() => {
    if (at < text.length && socket.writable) socket.write(text[at++]!);
  }, 50);
  cleanUps.push(() => {
    clearInterval(timer);
  });
}

describe('connections', () => {
  // F55: slow or idle connections: closed; other clients are answered meanwhile. Differs: 100
  // connections of each of three kinds instead of 5,000, which a machine's limit on open files may
  // not allow, and shorter timeouts. The test does not assert that other clients are not slowed
  // down; all their answers were 200.
  it('that are silent, or slow in their head or body, are closed, and other clients are served', async () => {
    const { url, port } = await serveWith({});
    const head = [...HEAD, `Authorization: Bearer ${apiKey}`, 'Content-Length: 10000', '', ''];
    const misbehaving: Socket[] = [];
    for (let i = 0; i < 100; i += 1) {
      const silent = await open(port);
      const slowHead = await open(port);
      trickle(slowHead, `GET /v1/models HTTP/1.1\r\nX: ${'y'.repeat(10_000)}`);
      const slowBody = await open(port);
      slowBody.write(head.join('\r\n'));
      trickle(slowBody, 'x'.repeat(10_000));
      misbehaving.push(silent, slowHead, slowBody);
    }
    const statuses = new Set<number>();
    let isOver = false;
    const honest = (async () => {
      while (!isOver) {
        const response = await postMessages({ url }, apiKey, userMessage('Hello'));
        await response.text();
        statuses.add(response.status);
      }
    })();
    await Promise.all(misbehaving.map(closed));
    isOver = true;
    await honest;
    expect([...statuses]).toEqual([200]);
  });

  // F55
  it('that are idle between requests are closed', async () => {
    const { port } = await serveWith({});
    const socket = await open(port);
    socket.write('GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n');
    await closed(socket);
  });

  // F73
  it('that declare a large body and send little of it use no memory for the rest', async () => {
    const { url, port } = await serveWith({});
    const declared = 30_000_000;
    const head = [
      ...HEAD,
      `Authorization: Bearer ${apiKey}`,
      `Content-Length: ${String(declared)}`,
    ];
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 50; i += 1) {
      const socket = await open(port);
      socket.write(`${head.join('\r\n')}\r\n\r\n${BODY}`);
    }
    // When this request is answered, everything that was sent before it has been read.
    const response = await postMessages({ url }, apiKey, userMessage('Hello'));
    expect(response.status).toBe(200);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(declared);
  });

  // F55
  it('beyond the maximum are closed at once, and the open ones are served', async () => {
    const { port } = await serveWith({ maxConnections: 3, headersTimeoutMs: 60_000 });
    const welcome = [await open(port), await open(port), await open(port)];
    await Promise.all([await open(port), await open(port)].map(closed));
    for (const socket of welcome) {
      socket.write('GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n');
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(answer.toString()).toContain('200 OK');
    }
  });
});

describe('an upload', () => {
  const PIECE_BYTES = 4_096;
  const PIECE_EVERY_MS = 60;
  const body = JSON.stringify(userMessage('y'.repeat(10 * PIECE_BYTES)));

  /** Serves with tiny times. The pieces come faster than an upload must, and take longer in all. */
  async function serveSlowly(limits: Partial<ConnectionLimits> = {}) {
    const finished: FinishedRequest[] = [];
    const telemetry = {
      requestFinished: (request: FinishedRequest) => {
        finished.push(request);
      },
    };
    const tiny = { requestTimeoutMs: 250, uploadStallMs: 250, checkEveryMs: 20, ...limits };
    return { finished, ...(await serveWith(tiny, { telemetry })) };
  }

  const headOf = (path: string, length = body.length): string =>
    [
      `POST ${path} HTTP/1.1`,
      ...HEAD.slice(1),
      `Authorization: Bearer ${apiKey}`,
      `Content-Length: ${String(length)}`,
      'Connection: close',
      '',
      '',
    ].join('\r\n');

  /** @returns everything that the server answers */
  async function upload(port: number, head: string, pieces: readonly string[]): Promise<string> {
    const socket = await open(port);
    let answer = '';
    socket.on('data', (piece: Buffer) => (answer += piece.toString()));
    socket.write(head);
    const left = [...pieces];
    const timer = setInterval(() => {
      const piece = left.shift();
      if (piece !== undefined && socket.writable) socket.write(piece);
    }, PIECE_EVERY_MS);
    cleanUps.push(() => {
      clearInterval(timer);
    });
    await closed(socket);
    return answer;
  }

  const inPieces = (text: string, bytes: number): string[] =>
    text.match(new RegExp(`[^]{1,${String(bytes)}}`, 'g')) ?? [];

  // F207: an upload that is slow, but makes progress: served, for up to `UPLOAD_MAX_S`.
  it('of a known key may take longer than a request, as long as it makes progress', async () => {
    const { port, finished } = await serveSlowly();
    const answer = await upload(port, headOf('/v1/messages'), inPieces(body, PIECE_BYTES));
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
    expect(finished).toMatchObject([{ status: 200 }]);
    expect(finished[0]!.durationMs).toBeGreaterThan(250);
  });

  // F208: uploads that drip or stop, many at once, in any worker: 408 as JSON in the format of the
  // endpoint, the same in the log; nothing is held.
  it.each([
    ['/v1/messages', { type: 'error', error: { type: 'timeout_error' } }],
    ['/v1/chat/completions', { error: { type: 'timeout_error', code: null } }],
    ['/v1/responses', { error: { type: 'timeout_error', code: null } }],
  ])(
    'that drips or takes too long in all is refused with 408, in the log too, and holds nothing: %s',
    async (path, form) => {
      for (const [bytes, limits] of [
        [1, {}],
        [PIECE_BYTES, { uploadMaxMs: 250 }],
      ] as const) {
        const { port, finished } = await serveSlowly(limits);
        const answer = await upload(port, headOf(path), inPieces(body, bytes));
        expect(answer).toMatch(/^HTTP\/1.1 408 /);
        expectJson(answer, form);
        const [, requestId] = /x-gateway-request-id: (\S+)/i.exec(answer) ?? [];
        expect(finished).toMatchObject([{ status: 408, requestId }]);
        expect(gateway.running.appParts.memory.reservedBytes).toBe(0);
        expect(gateway.simulator.journal.requests()).toEqual([]);
      }
    },
  );

  // F208
  it('that is not the body of a message, or of no known key, has one time in all', async () => {
    const { port, finished } = await serveSlowly();
    const links = await upload(port, headOf('/v1/dashboard/links'), inPieces(body, 1_024));
    expect(links).toMatch(/^HTTP\/1.1 408 /);
    expectJson(links, { error: { type: 'timeout_error' } });
    await until(() => finished.length > 0);
    expect(finished).toMatchObject([{ endpoint: 'links', status: 408 }]);
    const stranger = headOf('/v1/messages').replace(apiKey, 'sk-gw-unknown');
    const refused = await upload(port, stranger, inPieces(body, PIECE_BYTES));
    expect(refused).toMatch(/^HTTP\/1.1 401 /);
  });

  // F209
  it('that becomes invalid is in the log with the status that its client got', async () => {
    const { port, finished } = await serveSlowly({ requestTimeoutMs: 60_000 });
    const head = headOf('/v1/messages').replace(
      /Content-Length: \d+/,
      'Transfer-Encoding: chunked',
    );
    const answer = await upload(port, head, ['4\r\n{"a"\r\n', 'zz\r\n']);
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    await until(() => finished.length > 0);
    expect(finished).toMatchObject([{ status: 400 }]);
  });
});

describe('a client that does not read its answers', () => {
  const patient = { headersTimeoutMs: 60_000, requestTimeoutMs: 60_000, idleTimeoutMs: 60_000 };

  /** Asks on one connection for more than the system's buffers hold. */
  async function askWithoutReading(port: number, path: string): Promise<Socket> {
    const socket = await open(port);
    const request = `GET ${path} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`;
    socket.pause().write(request.repeat(4_000));
    return socket;
  }

  // F317
  it.each(['/openapi.json', '/v1/models'])(
    'is disconnected, with a key or without: %s',
    async (path) => {
      const impatient = { ...patient, clientStallMs: 300, checkEveryMs: 20 };
      const { port, server } = await serveWith(impatient);
      await askWithoutReading(port, path);
      await until(() => connectionsOn(server) === 1);
      await until(() => connectionsOn(server) === 0);
    },
  );

  // F318: a key that does not read its answers to the end: they count as memory of its account, and
  // beyond its share reads get 429, or 529 if others use the rest; changes are answered.
  it("uses its account's share of the memory for them, until it leaves", async () => {
    const memory = createByteBudget(64 * 1024 * 1024);
    const { port } = await serveWith(patient, { memory });
    const socket = await askWithoutReading(port, '/v1/models');
    await until(() => memory.reservedBytes > 0);
    // Node reads no further requests while the answers wait.
    for (let before = -1; before !== memory.reservedBytes;) {
      before = memory.reservedBytes;
      await (await fetch(`http://127.0.0.1:${String(port)}/healthz`)).text();
    }
    expect(memory.reservedBytes).toBeGreaterThan(0);
    socket.destroy();
    await until(() => memory.reservedBytes === 0);
  });

  // F318
  it.each([
    ['the account has its share', 'mine', 429, 'rate_limit_error'],
    ['others have the rest', 'theirs', 529, 'overloaded_error'],
  ] as const)('gets no more when %s, except to changes', async (_what, whose, status, type) => {
    const { id, apiKey: manager } = await gateway.createKey({ scope: 'manage' });
    const { account_id: mine } = await gateway.call('showKey', { key_id: id });
    const memory = createByteBudget(1_000);
    const { url } = await serveWith({}, { memory });
    const accounts = whose === 'mine' ? [mine] : ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
    const held = accounts.map((account) => {
      const reservation = memory.open(account);
      reservation.resize(Math.floor((1_000 - memory.reservedBytes) / 2));
      return reservation;
    });
    const headers = { authorization: `Bearer ${manager}`, 'content-type': 'application/json' };

    const refused = await fetch(`${url}/v1/dashboard/balance`, { headers });
    expect(refused.status).toBe(status);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toMatchObject({ error: { type } });
    const body = JSON.stringify({ name: 'made' });
    const made = await fetch(`${url}/v1/dashboard/keys`, { method: 'POST', headers, body });
    expect(await made.json()).toMatchObject({ name: 'made' });

    for (const reservation of held) reservation.release();
    const read = await fetch(`${url}/v1/dashboard/balance`, { headers });
    expect(read.status).toBe(200);
    await read.text();
    await until(() => memory.reservedBytes === 0);
  });
});

describe('a server that drains', () => {
  const PIECE = 16 * 1024 * 1024;

  /** Answers two paths with more bytes than a connection buffers, and all others with a word. */
  async function serveAndDrain({ clientStallMs } = { clientStallMs: 60_000 }): Promise<{
    port: number;
    startDraining: () => Promise<void>;
  }> {
    const server = createHttpServer((req, res) => {
      if (req.url === '/charged') waitForClientOf(res);
      const isLarge = req.url === '/large' || req.url === '/charged';
      res.end(isLarge ? Buffer.alloc(PIECE) : 'answered');
    });
    await listen(server, { host: '127.0.0.1', port: 0 });
    const { port } = server.address() as AddressInfo;
    return { port, startDraining: () => drain(server, { deadlineMs: HOUR_MS, clientStallMs }) };
  }

  async function answerOn(socket: Socket): Promise<string> {
    let answer = '';
    socket.on('data', (piece: Buffer) => (answer += piece.toString('latin1')));
    await closed(socket);
    return answer;
  }

  const asking = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: gateway\r\n\r\n`;

  it.each([
    ['/large', 60_000],
    ['/charged', 100],
  ])('lets a slow client read its answer to the end: %s', async (path, clientStallMs) => {
    const { port, startDraining } = await serveAndDrain({ clientStallMs });
    const socket = await open(port);
    socket.write(asking(path));
    await once(socket, 'readable');
    const drained = startDraining();
    // The answer is complete, and most of it waits in the server until the client reads it.
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect((await answerOn(socket)).length).toBeGreaterThan(PIECE);
    await drained;
  });

  // F317
  it('does not wait for a client that reads nothing', async () => {
    const { port, startDraining } = await serveAndDrain({ clientStallMs: 100 });
    const socket = await open(port);
    socket.write(asking('/large'));
    await once(socket, 'readable');
    await startDraining();
  });

  it('answers requests on its open connections, whether they are the first, already half sent, or the next', async () => {
    const { port, startDraining } = await serveAndDrain();
    const sockets = [await open(port), await open(port), await open(port)] as const;
    const [first, half, next] = sockets;
    half.write(asking('/half').slice(0, 9));
    next.write(asking('/first'));
    await once(next, 'readable');
    const drained = startDraining();
    const answers = Promise.all(sockets.map(answerOn));
    await new Promise((resolve) => setTimeout(resolve, 100));
    first.write(asking('/first'));
    half.write(asking('/half').slice(9));
    next.write(asking('/next'));
    const counts = (await answers).map((answer) => answer.split('answered').length - 1);
    expect(counts).toEqual([1, 1, 2]);
    await drained;
  });

  it('accepts no new connections, and closes those on which nothing was sent', async () => {
    const { port, startDraining } = await serveAndDrain();
    const silent = await open(port);
    const drained = startDraining();
    const late = connect({ port, host: '127.0.0.1' });
    const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNREFUSED');
    await closed(silent);
    await drained;
  });
});

describe('a request with a malformed head or an ambiguous length', () => {
  const smuggled = `POST /v1/messages HTTP/1.1\r\nHost: gateway\r\nContent-Length: 0\r\n\r\n`;
  const chunked = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
  const shapes: [what: string, headers: readonly string[], rest: string][] = [
    [
      'a length and chunks',
      [`Content-Length: ${String(chunked.length)}`, 'Transfer-Encoding: chunked'],
      chunked,
    ],
    [
      'chunks and a short length',
      ['Transfer-Encoding: chunked', 'Content-Length: 4'],
      `${chunked}${smuggled}`,
    ],
    ['two lengths', ['Content-Length: 0', `Content-Length: ${String(BODY.length)}`], BODY],
    ['a list of lengths', [`Content-Length: 0, ${String(BODY.length)}`], BODY],
    ['a length with a sign', [`Content-Length: +${String(BODY.length)}`], BODY],
    ['a length that is not a number', ['Content-Length: 0x10'], BODY],
    ['an unknown coding', ['Transfer-Encoding: xchunked'], chunked],
    ['a coding after chunked', ['Transfer-Encoding: chunked, identity'], chunked],
    ['a chunk of bad size', ['Transfer-Encoding: chunked'], `zz\r\n${BODY}\r\n0\r\n\r\n`],
    ['a space before the colon', [`Content-Length : ${String(BODY.length)}`], BODY],
    ['a folded header', ['X-Folded: a\r\n b', `Content-Length: ${String(BODY.length)}`], BODY],
    ['a header without a colon', ['Content-Length', `X: ${String(BODY.length)}`], BODY],
    ['a NUL in a header', ['X: a\0b', `Content-Length: ${String(BODY.length)}`], BODY],
    [
      'a bare CR in a header',
      ['X: a\rContent-Length: 0', `Content-Length: ${String(BODY.length)}`],
      BODY,
    ],
  ];

  // F176
  it.each([
    ['messages', '/v1/messages', { type: 'error' }],
    ['chat completions', '/v1/chat/completions', { error: { code: null } }],
    ['responses', '/v1/responses', { error: { code: null } }],
  ])('is refused in the form of its endpoint, on both ports: %s', async (_name, path, form) => {
    const large = `POST ${path} HTTP/1.1\r\nHost: gateway\r\nX: ${'y'.repeat(40_000)}\r\n\r\n`;
    for (const url of [gateway.url, gateway.adminUrl]) {
      for (const [text, status] of [
        [large, 431],
        [`POST ${path} HTTP/9.9\r\n\r\n`, 400],
      ] as const) {
        const socket = await open(Number(new URL(url).port));
        let answer = '';
        socket.on('data', (piece: Buffer) => (answer += piece.toString()));
        socket.write(text);
        await closed(socket);
        expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${String(status)} `));
        expectJson(answer, { error: { type: 'invalid_request_error' } });
        if (text !== large) expectJson(answer, form);
      }
    }
  });

  // F209: a request that Node answers itself, without a body that SDKs can read: JSON in the format
  // of the endpoint, or the native one if it is not known.
  it.each([
    ['no Host', (path: string) => `POST ${path} HTTP/1.1\r\n\r\n`, 400, 'host: is missing'],
    [
      'an unknown Expect',
      (path: string) => `POST ${path} HTTP/1.1\r\nHost: gateway\r\nExpect: tea\r\n\r\n`,
      ...([417, 'expect: must be absent or 100-continue'] as const),
    ],
    [
      'a tunnel',
      () => 'CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com\r\n\r\n',
      ...([405, 'CONNECT: the gateway is not a proxy'] as const),
    ],
    ['a head that never ends', (path: string) => `POST ${path} HTTP/1.1\r\n`, 408, 'in time'],
    ['nothing at all', () => '', 408, 'in time'],
  ] as const)(
    'is answered by the gateway, not by Node: %s',
    async (what, requestTo, status, text) => {
      const { port } = await serveWith({ headersTimeoutMs: 100, checkEveryMs: 20 });
      const ports =
        status === 408
          ? [port]
          : [gateway.url, gateway.adminUrl].map((url) => Number(new URL(url).port));
      for (const each of ports) {
        for (const [path, form] of [
          ['/v1/messages', { type: 'error' }],
          ['/v1/responses', what.startsWith('a') ? {} : { error: { code: null } }],
        ] as const) {
          const socket = await open(each);
          let answer = '';
          socket.on('data', (piece: Buffer) => (answer += piece.toString()));
          socket.write(requestTo(path));
          await closed(socket);
          expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${String(status)} `));
          expectJson(answer, { ...form, error: { message: expect.stringContaining(text) } });
        }
      }
    },
  );

  // F56, F59
  // F65: request smuggling, 14 shapes: one 400, connection closed.
  // F176: a request that the HTTP parser refuses, or whose head is late or too large: JSON in the
  // format of its endpoint, with a request id; the connection is closed.
  it.each(shapes)(
    'is refused once, and its connection is closed: %s',
    async (_what, headers, rest) => {
      const socket = await open(Number(new URL(gateway.url).port));
      let answer = '';
      socket.on('data', (piece: Buffer) => (answer += piece.toString()));
      const head = [...HEAD, `Authorization: Bearer ${apiKey}`, ...headers, '', ''];
      socket.write(head.join('\r\n') + rest);
      await closed(socket);
      expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400']);
      expectJson(answer, { type: 'error', error: { type: 'invalid_request_error' } });
      expect(gateway.simulator.journal.requests()).toEqual([]);
    },
  );
});
