/**
 * The process of the upstream for all contestants. It sends precomputed bytes, without parsing a
 * body, so that it never limits a run. It receives over IPC the responses to send next.
 */

import { createServer } from 'node:net';
import { answerOf } from './answers.mjs';
import { createPacer } from './pacer.mjs';

const HEAD_END = Buffer.from('\r\n\r\n');
/** Size of the HTTP chunks of streams at full speed: that of a TLS record. */
const CHUNK_BYTES = 16 * 1024;

let rules = [];
let pacer;
const served = { requests: 0, bodyBytes: 0 };

const server = createServer({ noDelay: true }, (socket) => {
  let head = Buffer.alloc(0);
  /** Remaining bytes of the current body; `undefined` between requests, NaN for a chunked body. */
  let missing;
  let length = 0;
  let lastBytes = '';

  socket.on('data', (data) => {
    if (missing === undefined) data = takeHead(data);
    if (missing !== undefined) takeBody(data);
  });
  socket.on('error', () => socket.destroy());

  /** @returns the bytes after the head, once the head is complete. */
  function takeHead(data) {
    const bytes = head.length === 0 ? data : Buffer.concat([head, data]);
    const end = bytes.indexOf(HEAD_END);
    if (end === -1) {
      head = bytes;
      return undefined;
    }
    const text = bytes.latin1Slice(0, end);
    head = Buffer.alloc(0);
    missing = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? NaN);
    return bytes.subarray(end + HEAD_END.length);
  }

  function takeBody(data) {
    length += data.length;
    if (Number.isNaN(missing)) {
      lastBytes = (lastBytes + data.latin1Slice(-5)).slice(-5);
      if (lastBytes !== '0\r\n\r\n') return;
    } else if (length < missing) {
      return;
    }
    served.requests += 1;
    served.bodyBytes += length;
    const rule = rules.find(({ fromBytes }) => length >= fromBytes);
    missing = undefined;
    length = 0;
    if (rule.frames === undefined) socket.write(rule.whole);
    else pacer.start(socket, rule);
  }
});

const handlers = {
  serve({ requests, eventsPerSecond }) {
    pacer?.stop();
    pacer = eventsPerSecond === undefined ? undefined : createPacer(eventsPerSecond);
    rules = rulesOf(requests, eventsPerSecond !== undefined);
  },
  report() {
    const report = { ...served };
    served.requests = 0;
    served.bodyBytes = 0;
    return report;
  },
};

process.on('message', ({ id, command, argument }) => {
  process.send?.({ id, result: handlers[command](argument) });
});
process.on('disconnect', () => process.exit());
server.listen({ port: 0, host: '127.0.0.1', backlog: 8_192 }, () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  process.send?.({ ready: { port } });
});

/**
 * The size of a request selects its response: it must have at least half the bytes of that work's
 * request.
 */
function rulesOf(requests, isPaced) {
  return requests
    .map(({ bytes, answer }) => ({ fromBytes: bytes / 2, ...wireOf(answerOf(answer), isPaced) }))
    .sort((a, b) => b.fromBytes - a.fromBytes);
}

/** The bytes on the wire: all at once, or event by event for paced streams. */
function wireOf(/** @type {any} */ { kind, native, events }, isPaced) {
  if (kind === 'json') {
    return { whole: Buffer.concat([headOf('application/json', native.length), native]) };
  }
  const head = headOf('text/event-stream; charset=utf-8');
  const last = Buffer.from('0\r\n\r\n');
  if (!isPaced) return { whole: Buffer.concat([head, ...cut(native).map(httpChunk), last]) };
  const frames = events.map(httpChunk);
  frames[0] = Buffer.concat([head, frames[0]]);
  frames[frames.length - 1] = Buffer.concat([frames.at(-1), last]);
  return { frames };
}

function headOf(type, length) {
  const framing = length === undefined ? 'transfer-encoding: chunked' : `content-length: ${length}`;
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${framing}\r\nrequest-id: req_bench\r\n\r\n`,
  );
}

function httpChunk(bytes) {
  return Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ]);
}

function cut(bytes) {
  const pieces = [];
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    pieces.push(bytes.subarray(at, at + CHUNK_BYTES));
  }
  return pieces;
}
