/** Calls of customers, from any address, in every format. */

import { EventEmitter } from 'node:events';
import { connect } from 'node:net';
import { clearTimeout, setTimeout } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { callHeaders } from './headers.mjs';

/**
 * @param {object} question
 * @param {{ path: string, ask: (text: string, maxTokens: number) => object }} question.format
 * @param {string} question.model
 * @param {string} question.text
 * @param {number} question.maxTokens
 * @param {boolean} question.stream
 * @returns the path and the body of a request
 */
export function askIn({ format, model, text, maxTokens, stream }) {
  return {
    path: format.path,
    body: JSON.stringify({ model, stream, ...format.ask(text, maxTokens) }),
  };
}

/** Calls to one gateway. The caller's address is in `X-Forwarded-For`. */
export function createCalls(url) {
  const agent = new Agent({ bodyTimeout: 120_000, headersTimeout: 120_000 });
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set();
  const { hostname, port } = new URL(url);

  return {
    /**
     * @param {object} call
     * @param {string} call.path
     * @param {string} call.credential
     * @param {string} call.address
     * @param {'GET' | 'POST' | 'PATCH'} [call.method]
     * @param {string | Buffer | import('node:stream').Readable} [call.body]
     * @param {Readonly<Record<string, string>>} [call.headers]
     * @param {number} [call.leaveAfterMs] - closes the connection then
     * @returns {Promise<{ status: number, requestId?: string, text: string }>} status 0: the
     *   connection ended early
     */
    async call({ path, credential, address, method = 'POST', body, headers, leaveAfterMs }) {
      const signal = leaveAfterMs === undefined ? undefined : signalAfter(leaveAfterMs);
      try {
        const response = await request(url + path, {
          dispatcher: agent,
          method,
          signal,
          body: body ?? null,
          headers: { ...callHeaders(credential), 'x-forwarded-for': address, ...headers },
        });
        const requestId = String(response.headers['x-gateway-request-id']);
        try {
          return { status: response.statusCode, requestId, text: await response.body.text() };
        } catch (error) {
          return { status: 0, requestId, text: String(error) };
        }
      } catch (error) {
        return { status: 0, text: String(error) };
      }
    },
    /**
     * Declares a body, sends a part of it, and is silent from then on.
     *
     * @param {object} call
     * @param {string} call.path
     * @param {string} call.credential
     * @param {string} call.address
     * @param {number} call.declaredBytes
     * @param {string} call.sent - the bytes that are sent
     * @param {number} call.closeAfterMs
     * @param {number} call.waitMs - for an answer
     * @returns {Promise<boolean>} whether the gateway waits for the rest, and has not answered
     */
    async beSilent({ path, credential, address, declaredBytes, sent, waitMs, closeAfterMs }) {
      const socket = connect({ host: hostname, port: Number(port) });
      sockets.add(socket);
      let isOpen = true;
      const timer = setTimeout(() => socket.destroy(), closeAfterMs);
      socket.on('error', () => {});
      socket.on('data', () => {
        isOpen = false;
        socket.destroy();
      });
      socket.on('close', () => {
        clearTimeout(timer);
        sockets.delete(socket);
      });
      const headers = {
        host: hostname,
        'x-forwarded-for': address,
        'content-length': declaredBytes,
        ...callHeaders(credential),
      };
      const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`POST ${path} HTTP/1.1\r\n${head.join('')}\r\n${sent}`);
      await sleep(waitMs);
      return isOpen;
    },
    silentCount: () => sockets.size,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await agent.destroy();
    },
  };
}

function signalAfter(ms) {
  const leaving = new EventEmitter();
  setTimeout(() => leaving.emit('abort'), ms);
  return leaving;
}
