/**
 * One keep-alive connection of the load generator. Writes requests that are prepared as bytes, and
 * reads responses with a parser for the part of HTTP/1.1 that occurs here: a full client would take
 * more CPU time than the contestants. It passes the body to the check of the request, piece by
 * piece.
 */

import { connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const LF = 0x0a;

/**
 * @param onDone - Called once per {@link send}, with a reason if the response is wrong.
 * @param onFirstByte - Called at the first byte of a response's body.
 */
export function createConnection({ port, onDone, onFirstByte }) {
  let socket;
  let check;
  let read;
  /** Bytes of an incomplete head or chunk size. */
  let rest = Buffer.alloc(0);
  /** Remaining bytes of the body, or of the current chunk. */
  let missing = 0;
  let hasBegun = false;
  /** Whether this response is the last one of the connection. */
  let isLast = false;

  function send(request) {
    check = request.check;
    check.begin();
    read = readHead;
    hasBegun = false;
    if (socket === undefined || socket.destroyed) socket = opened();
    // The head and the body are written with one system call.
    socket.cork();
    socket.write(request.nextHead());
    socket.write(request.body);
    socket.uncork();
  }

  function opened() {
    const opening = connect({ host: '127.0.0.1', port, noDelay: true });
    rest = Buffer.alloc(0);
    opening.on('data', (data) => {
      for (let at = 0; at < data.length && read !== undefined;) at = read(data, at);
    });
    // A connection may close when the next one is already in use. Its events must not end the
    // request on that one.
    const finishHere = (problem) => opening === socket && finish(problem);
    opening.on('error', (/** @type {NodeJS.ErrnoException} */ error) =>
      finishHere(`connection: ${error.code}`),
    );
    opening.on('close', () => finishHere('closed during a response'));
    return opening;
  }

  function finish(problem) {
    if (read === undefined) return;
    read = undefined;
    if (problem !== undefined || isLast) socket.destroy();
    onDone(problem);
  }

  /** Each reader reads from `at` on, and returns the position for the next reader. */
  function readHead(data, at) {
    const bytes = rest.length === 0 ? data.subarray(at) : Buffer.concat([rest, data.subarray(at)]);
    const end = bytes.indexOf(HEAD_END);
    if (end === -1) {
      rest = bytes;
      return data.length;
    }
    const used = end + HEAD_END.length - rest.length;
    rest = Buffer.alloc(0);
    const head = bytes.latin1Slice(0, end).toLowerCase();
    isLast = head.includes('\r\nconnection: close');
    const status = Number(head.slice(9, 12));
    if (status !== 200) {
      finish(`status ${status}: ${bytes.toString('latin1', end + HEAD_END.length, end + 300)}`);
      return data.length;
    }
    if (head.includes('\r\ntransfer-encoding: chunked')) {
      read = readChunkSize;
    } else {
      missing = Number(/\r\ncontent-length: *(\d+)/.exec(head)?.[1] ?? NaN);
      if (Number.isNaN(missing)) finish('neither a length nor chunks');
      else read = readLengthBody;
    }
    return at + used;
  }

  function readLengthBody(data, at) {
    const end = take(data, at);
    if (missing === 0) finish(check.end());
    return end;
  }

  function readChunkSize(data, at) {
    const lineEnd = data.indexOf(LF, at);
    if (lineEnd === -1) {
      rest = Buffer.concat([rest, data.subarray(at)]);
      return data.length;
    }
    const line = rest.toString('latin1') + data.latin1Slice(at, lineEnd);
    rest = Buffer.alloc(0);
    missing = Number.parseInt(line, 16);
    // The chunk's bytes follow, and a line end. The last chunk has no bytes.
    read = missing === 0 ? readLastLine : readChunk;
    return lineEnd + 1;
  }

  function readChunk(data, at) {
    const end = take(data, at);
    if (missing === 0) read = readChunkEnd;
    return end;
  }

  function readChunkEnd(data, at) {
    const lineEnd = data.indexOf(LF, at);
    if (lineEnd === -1) return data.length;
    read = readChunkSize;
    return lineEnd + 1;
  }

  function readLastLine(data, at) {
    const lineEnd = data.indexOf(LF, at);
    if (lineEnd === -1) return data.length;
    finish(check.end());
    return lineEnd + 1;
  }

  function take(data, at) {
    const end = Math.min(data.length, at + missing);
    if (!hasBegun) {
      hasBegun = true;
      onFirstByte();
    }
    check.data(data.subarray(at, end));
    missing -= end - at;
    return end;
  }

  return {
    send,
    close() {
      read = undefined;
      socket?.destroy();
    },
  };
}
