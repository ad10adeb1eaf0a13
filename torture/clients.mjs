/**
 * Clients that record every usage object they receive: the external witness. The ledger must
 * contain all these usages, even if processes were killed.
 */

import { Agent, request } from 'undici';
import { setTimeout as sleep } from 'node:timers/promises';
import { FORMATS } from './formats.mjs';
import { callHeaders } from './headers.mjs';

/** @typedef {{ headers: Readonly<Record<string, string>>, spender: object | undefined }} Named */

/**
 * @param {object} options
 * @param {readonly any[]} options.replicas
 * @param {readonly any[]} options.keys
 * @param {readonly { id: string }[]} options.models
 * @param {number} options.parallel
 * @param {ReturnType<typeof import('./random.mjs').createRandom>} options.random
 * @param {(tally: object) => void} [options.onProgress]
 * @param {(key: any) => Named} [options.nameSpender] - whom a request names, if it names anybody
 */
export function createClients({
  replicas,
  keys,
  models,
  parallel,
  random,
  onProgress,
  nameSpender = () => ({ headers: {}, spender: undefined }),
}) {
  const seen = [];
  /** Refused requests, which must not have a ledger entry. */
  const refused = [];
  const tally = { complete: 0, refused: 0, cut: 0 };
  const agent = new Agent({ connections: parallel, bodyTimeout: 150_000, headersTimeout: 150_000 });
  let started = 0;
  let stopped = false;

  async function client() {
    while (!stopped) {
      const i = started++;
      const outcome = await one(i);
      tally[outcome] += 1;
      onProgress?.(tally);
      if (outcome !== 'complete') await sleep(20 + random.below(80));
    }
  }

  async function one(i) {
    const replica = random.pick(replicas);
    const key = random.pick(keys);
    const model = random.pick(models);
    const format = FORMATS[i % FORMATS.length];
    const isStream = i % 10 !== 0;
    const { headers, spender } = nameSpender(key);
    let requestId;
    try {
      const response = await request(replica.url + format.path, {
        dispatcher: agent,
        method: 'POST',
        headers: { ...callHeaders(key.credential), ...headers },
        body: JSON.stringify({
          model: model.id,
          stream: isStream,
          ...format.ask(`question ${i} ${'word '.repeat(i % 40)}`, 30 + (i % 50)),
        }),
      });
      requestId = response.headers['x-gateway-request-id'];
      const text = await response.body.text();
      if (response.statusCode !== 200) {
        refused.push({ requestId, status: response.statusCode, text });
        return 'refused';
      }
      const usage = format.usage(text, isStream);
      if (usage === undefined) return 'cut';
      seen.push({ requestId, keyId: key.id, model: model.id, spender, ...usage });
      return 'complete';
    } catch {
      return 'cut';
    }
  }

  async function untilComplete(count) {
    while (tally.complete < count) await sleep(10);
  }

  return {
    seen,
    refused,
    tally,
    /**
     * Runs faults one after another, spread evenly over a number of complete responses. With n
     * faults, fault i (counted from 0) begins when the clients have received i/n of the responses
     * and the fault before it has ended. Resolves when the clients have received all responses and
     * the last fault has ended.
     *
     * @param {readonly (() => Promise<void>)[]} faults
     * @param {number} responses
     */
    async spreadFaults(faults, responses) {
      for (const [index, fault] of faults.entries()) {
        await untilComplete(Math.floor((index / faults.length) * responses));
        await fault();
      }
      await untilComplete(responses);
    },
    stop() {
      stopped = true;
    },
    async run() {
      await Promise.all(Array.from({ length: parallel }, client));
      await agent.destroy();
    },
  };
}
