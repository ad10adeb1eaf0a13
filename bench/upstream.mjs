/**
 * The process of the upstream for all contestants. It reads each request and sends precomputed
 * bytes for it. A request with another content than the client's request gets a 400, so that a
 * contestant that changes requests gets no figures. It receives over IPC the requests to expect
 * next.
 */

import { createServer } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers';
import { answerOf } from './answers.mjs';
import { createExpectation } from './expectation.mjs';
import { createPacer } from './pacer.mjs';

const HEAD_END = Buffer.from('\r\n\r\n');
/** Size of the HTTP chunks of streams at full speed: that of a TLS record. */
const CHUNK_BYTES = 16 * 1024;

let expectation;
let pacer;
let served = nothingServed();

const server = createServer({ noDelay: true }, (socket) => {
  let head = Buffer.alloc(0);
  let headText = '';
  /** Length of the current body; `undefined` between requests, NaN for a chunked body. */
  let expectedBytes;
  let pieces = [];
  let length = 0;

  socket.on('data', (data) => {
    if (expectedBytes === undefined) data = takeHead(data);
    if (expectedBytes !== undefined) takeBody(data);
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
    headText = bytes.latin1Slice(0, end);
    head = Buffer.alloc(0);
    expectedBytes = Number(/\r\ncontent-length: *(\d+)/i.exec(headText)?.[1] ?? NaN);
    return bytes.subarray(end + HEAD_END.length);
  }

  function takeBody(data) {
    pieces.push(data);
    length += data.length;
    if (Number.isNaN(expectedBytes)) {
      const lastBytes = Buffer.concat(pieces.slice(-2)).subarray(-5).toString('latin1');
      if (lastBytes !== '0\r\n\r\n') return;
    } else if (length < expectedBytes) {
      return;
    }
    const received = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
    const body = Number.isNaN(expectedBytes) ? unchunked(received) : received;
    expectedBytes = undefined;
    pieces = [];
    length = 0;
    respond(body);
  }

  function respond(body) {
    served.requests += 1;
    const { problem, wire } = expectation.check(headText, body);
    if (problem !== undefined) {
      served.problems.add(problem);
      socket.write(refusalOf(problem));
    } else if (wire.delayMs !== undefined) {
      setTimeout(() => {
        if (!socket.destroyed) socket.write(wire.whole);
      }, wire.delayMs);
    } else if (wire.whole !== undefined) {
      socket.write(wire.whole);
    } else if (pacer !== undefined) {
      pacer.start(socket, wire);
    } else {
      sendPieces(socket, wire.frames);
    }
  }
});

/** Sends each frame in an event-loop tick of its own, so that it arrives in a read of its own. */
function sendPieces(socket, frames) {
  let next = 0;
  const sendNext = () => {
    if (socket.destroyed) return;
    socket.write(frames[next++]);
    if (next < frames.length) setImmediate(sendNext);
  };
  sendNext();
}

const handlers = {
  /** @param fidelity - see `load/checks.mjs`; with `bytes`, requests must arrive unchanged too */
  serve({ requests, fidelity, eventsPerSecond }) {
    pacer?.stop();
    pacer = eventsPerSecond === undefined ? undefined : createPacer(eventsPerSecond);
    const isPaced = pacer !== undefined;
    expectation = createExpectation(requests, {
      fidelity,
      wireOf: (answer) => wireOf(answerOf(answer), { ...answer, isPaced }),
    });
  },
  report() {
    const report = { ...served, problems: [...served.problems] };
    served = nothingServed();
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

function nothingServed() {
  return { requests: 0, problems: new Set() };
}

/**
 * The bytes to send: either `whole`, in one write and `delayMs` after the request if that is given,
 * or `frames`, one after the other. Frames are the events of paced streams, and pieces of
 * `pieceBytes` if that is given.
 */
function wireOf(/** @type {any} */ { kind, native, events }, { isPaced, pieceBytes, delayMs }) {
  if (kind === 'json') {
    return { whole: Buffer.concat([headOf('application/json', native.length), native]), delayMs };
  }
  const head = headOf('text/event-stream; charset=utf-8');
  const last = Buffer.from('0\r\n\r\n');
  const pieces = isPaced ? events : cut(native, pieceBytes ?? CHUNK_BYTES);
  const frames = pieces.map(httpChunk);
  if (!isPaced && pieceBytes === undefined)
    return { whole: Buffer.concat([head, ...frames, last]) };
  frames[0] = Buffer.concat([head, frames[0]]);
  frames[frames.length - 1] = Buffer.concat([frames.at(-1), last]);
  return { frames };
}

function refusalOf(problem) {
  const body = JSON.stringify({
    type: 'error',
    error: { type: 'invalid_request_error', message: `benchmark: ${problem}` },
  });
  return `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
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

function cut(bytes, size) {
  const pieces = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}

/** The content of a body in HTTP chunks. */
function unchunked(body) {
  const pieces = [];
  for (let at = 0; ;) {
    const lineEnd = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.latin1Slice(at, lineEnd), 16);
    if (!(size > 0)) return Buffer.concat(pieces);
    pieces.push(body.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
