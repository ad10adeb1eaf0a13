/** How fast clients read their answers, with a clock that the tests move. */

import { once } from 'node:events';
import { createServer, get } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Departure } from '../../src/http/departures.js';
import type { AnswerSocket } from '../../src/http/departures.js';

const STALL_MS = 120_000;
const LOOK_MS = 2_000;
const MEBIBYTE = 1024 * 1024;

/** An answer that was written and waits for its client, of which so much has left. */
function answerOf(sentBytes: number, writableEnded = true): AnswerSocket {
  const waiting = 1_000_000;
  return {
    bytesWritten: sentBytes + waiting,
    writableLength: waiting,
    _httpMessage: { writableEnded },
    _handle: { bytesWritten: sentBytes + waiting, writeQueueSize: waiting },
  };
}

/** @returns after how many looks the client is late; `undefined` if it never is */
function lateAfter(answers: readonly AnswerSocket[]): number | undefined {
  const departure = new Departure();
  const index = answers.findIndex((answer) => departure.look(LOOK_MS, answer, STALL_MS));
  return index === -1 ? undefined : index + 1;
}

const looks = (bytesPerLook: number, isEnded = true): AnswerSocket[] =>
  Array.from({ length: 1_000 }, (_, look) => answerOf(look * bytesPerLook, isEnded));

describe('a client that has an answer to read', () => {
  // F317: a client that reads nothing of its answer, or less than 1 KiB per second, with a key or
  // without: disconnected after 120 s; a stop waits 10 s for it. Answers that were charged are
  // waited for up to the deadline of the stop.
  it('is late if it reads nothing, or a byte now and then', () => {
    expect(lateAfter(looks(0))).toBe(STALL_MS / LOOK_MS);
    expect(lateAfter(looks(2))).toBe(STALL_MS / LOOK_MS + 1);
  });

  // F317
  it('is never late while it keeps the least pace', () => {
    expect(lateAfter(looks(2_048))).toBeUndefined();
  });

  // F317
  it('is not judged while its answer is being written, or when it has read everything', () => {
    expect(lateAfter(looks(0, false))).toBeUndefined();
    const departure = new Departure();
    for (let round = 0; round < 10; round += 1) {
      expect(departure.look(STALL_MS - 1, answerOf(0), STALL_MS)).toBe(false);
      expect(departure.look(STALL_MS, { ...answerOf(0), writableLength: 0 }, STALL_MS)).toBe(false);
    }
  });
});

describe('a large answer', () => {
  const ANSWER_BYTES = 64 * MEBIBYTE;
  let socket: Socket;
  const server = createServer((req, res: ServerResponse) => {
    ({ socket } = req);
    res.end(Buffer.alloc(ANSWER_BYTES));
  });
  beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Reads so much, and little more. */
  function read(response: IncomingMessage, length: number): Promise<void> {
    let received = 0;
    return new Promise((resolve) => {
      response.on('data', (bytes: Buffer) => {
        received += bytes.length;
        if (received < length) return;
        response.pause();
        resolve();
      });
    });
  }

  // F317
  it('that was written at once counts as read byte by byte', async () => {
    const { port } = server.address() as AddressInfo;
    const request = get({ port, host: '127.0.0.1', agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const departure = new Departure();
    expect(departure.look(0, socket, STALL_MS)).toBe(false);
    expect(departure.look(STALL_MS - 1, socket, STALL_MS)).toBe(false);
    // More than the system's buffers hold, so that more must have left the server.
    await read(response, (3 / 4) * ANSWER_BYTES);
    expect(socket.writableLength).toBeGreaterThan(0);
    expect(departure.look(STALL_MS - 1, socket, STALL_MS)).toBe(false);
    expect(departure.look(STALL_MS, socket, STALL_MS)).toBe(true);
    response.destroy();
  });
});
