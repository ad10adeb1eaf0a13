/**
 * The ordered upstream in a thread of its own, so that the work of the part does not delay its
 * answers to other customers.
 */

import { Worker, isMainThread, parentPort } from 'node:worker_threads';
import { startOrderedUpstream } from '../ordered-upstream.mjs';

export async function startUpstreamThread() {
  const worker = new Worker(new URL(import.meta.url), { workerData: {} });
  let calls = 0;
  /** @type {Map<number, (result: any) => void>} */
  const pending = new Map();
  const started = new Promise((resolve) => {
    worker.on('message', ({ call, result }) => {
      if (call === 0) resolve(result);
      pending.get(call)?.(result);
      pending.delete(call);
    });
  });
  /** @returns {Promise<any>} */
  const ask = (method, ...args) =>
    new Promise((resolve) => {
      calls += 1;
      pending.set(calls, resolve);
      worker.postMessage({ call: calls, method, args });
    });
  const { url, apiKeys } = await started;
  return {
    env: { UPSTREAM_URL: url, UPSTREAM_API_KEY: apiKeys[0] },
    open: (which) => ask('open', which),
    summaryOf: (who, rate) => ask('summaryOf', who, rate),
    /** @returns {Promise<unknown>} */
    stop: () => worker.terminate(),
  };
}

if (!isMainThread) {
  const { url, apiKeys, ...upstream } = await startOrderedUpstream();
  parentPort?.on('message', async ({ call, method, args }) => {
    parentPort?.postMessage({ call, result: await upstream[method](...args) });
  });
  parentPort?.postMessage({ call: 0, result: { url, apiKeys } });
}
