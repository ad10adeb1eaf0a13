/**
 * Customers who make one small request after another, to see whether anybody else's requests
 * disturb them. They run in a thread of their own, so that the work of the part does not delay
 * them.
 */

import { performance } from 'node:perf_hooks';
import { setInterval } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { askIn, createCalls } from './calls.mjs';
import { FORMATS } from './formats.mjs';
import { orderText } from './ordered-upstream.mjs';

/** How often this thread looks at the clock, to know when it did not run. */
const TICK_MS = 5;
/** Number of first requests whose times do not count. */
const WARM_UP = 15;
const BODY_BYTES = 1_000;

/** @typedef {{ at: number, ms: number, status: number, text: string }} Watched */

/**
 * @param {object} options
 * @param {string} options.url - of the gateway
 * @param {readonly { credential: string, model: string }[]} options.customers
 * @param {number} options.pauseMs - between two requests of one customer
 */
export function startWatchers({ url, customers, pauseMs }) {
  const workerData = { url, customers, pauseMs };
  const worker = new Worker(new URL(import.meta.url), { workerData });
  /** @returns {Promise<Watched[]>} the requests that ended since the last call */
  async function take() {
    worker.postMessage('take');
    return new Promise((resolve) => worker.once('message', resolve));
  }

  return {
    take,
    /**
     * Waits for some requests, after the first ones, which are slow because code is compiled.
     *
     * @param {number} count
     */
    async takeAfter(count) {
      const watched = [];
      while (watched.length < WARM_UP + count) {
        await sleep(50);
        watched.push(...(await take()));
      }
      return watched.slice(WARM_UP);
    },
    /** @returns {Promise<unknown>} */
    stop: () => worker.terminate(),
  };
}

if (!isMainThread && workerData?.customers !== undefined) {
  const { call } = createCalls(workerData.url);
  /** @type {Watched[]} */
  let watched = [];
  parentPort?.on('message', () => {
    parentPort?.postMessage(watched);
    watched = [];
  });
  /** How long this thread should have run and did not, because the machine was busy. */
  let pausedMs = 0;
  let tickedAt = performance.now();
  setInterval(() => {
    const now = performance.now();
    pausedMs += Math.max(0, now - tickedAt - 2 * TICK_MS);
    tickedAt = now;
  }, TICK_MS);

  for (const [index, { credential, model }] of workerData.customers.entries()) {
    const order = orderText({ who: `watcher-${index}`, output: 5 });
    const { path, body } = askIn({
      format: FORMATS[index % FORMATS.length],
      model,
      maxTokens: 5,
      stream: index % 2 === 0,
      text: order.padEnd(BODY_BYTES, ' and so on'),
    });
    void watch({ path, body, credential, address: `172.16.0.${index + 1}` });
  }

  async function watch(question) {
    for (;;) {
      const startedAt = performance.now();
      const pausedBefore = pausedMs;
      const at = Date.now();
      const { status, text } = await call(question);
      const ms = performance.now() - startedAt - (pausedMs - pausedBefore);
      watched.push({ at, ms, status, text: status === 200 ? '' : text.slice(0, 300) });
      await sleep(workerData.pauseMs);
    }
  }
}
