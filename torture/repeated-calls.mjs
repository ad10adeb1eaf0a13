/**
 * Calls to gateways that are killed and restarted. Each call is repeated, at a random gateway each
 * time, until one gives a final answer.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { ADMIN_TOKEN } from './system.mjs';

/** The longest time without a final answer, including all restarts. */
const MOST_SILENCE_MS = 120_000;
/** After a full-size run, the comparison with the payment provider can take minutes. */
const ADMIN_TIMEOUT_MS = 600_000;

/** @typedef {ReturnType<typeof createRepeatedCalls>} RepeatedCalls */

/**
 * @param {object} options
 * @param {readonly any[]} options.replicas
 * @param {(status: number) => boolean} options.isFinal - other statuses, and answers that are cut
 *   off, are repeated
 */
export function createRepeatedCalls({ replicas, isFinal }, random) {
  /**
   * @param {(replica: any) => string} urlAt - the URL at one gateway
   * @param {NonNullable<Parameters<typeof request>[1]>} options
   * @returns {Promise<{ status: number, value: any }>} the final answer
   */
  async function callRepeatedly(urlAt, options) {
    const startedAt = Date.now();
    for (;;) {
      const replica = random.pick(replicas);
      const url = urlAt(replica);
      const answer = /** @type {any} */ (await request(url, options).catch(String));
      const status = answer.statusCode;
      // If the end of the answer is lost, the caller does not know what happened, and repeats.
      const value = await answer.body?.json().catch(() => undefined);
      if (value !== undefined && isFinal(status)) return { status, value };
      if (Date.now() - startedAt > MOST_SILENCE_MS) {
        throw new Error(
          `no final answer from ${url}; last ${status ?? answer}:\n${replica.output()}`,
        );
      }
      await sleep(50);
    }
  }

  /**
   * @param {'GET' | 'POST' | 'PATCH'} method
   * @param {string} path - below `/admin/`
   * @param {object} [body]
   */
  function callAdmin(method, path, body) {
    return callRepeatedly(({ adminUrl }) => `${adminUrl}/admin/${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
      headersTimeout: ADMIN_TIMEOUT_MS,
    });
  }

  return { callRepeatedly, callAdmin };
}
