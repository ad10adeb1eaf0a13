/**
 * In place of `node-fetch`, which Google's library loads for its requests that take no `fetch` of
 * their callers: the exchange of a workload's token, and those to the machine. So they too go
 * through undici, with the proxies of the environment. `tsup.config.ts` and `jest.config.mjs`
 * replace it.
 */

import { EnvHttpProxyAgent, fetch } from 'undici';
import type { RequestInit } from 'undici';

/** The machine's own addresses are not behind a proxy. */
const MACHINE = /^http:\/\/(?:metadata\.google\.internal|169\.254\.169\.254)\.?(?:[:/]|$)/;

export default async function libraryFetch(
  url: string | URL,
  init?: RequestInit,
): Promise<Awaited<ReturnType<typeof fetch>>> {
  if (MACHINE.test(String(url))) return fetch(url, init);
  // For one request: tokens are renewed too rarely to keep connections.
  const dispatcher = new EnvHttpProxyAgent();
  const answer = await fetch(url, { ...init, dispatcher });
  void dispatcher.close();
  return answer;
}
