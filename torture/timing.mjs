/**
 * An attacker who guesses keys must not learn whether a key exists. Unknown and revoked keys are
 * refused with the same text, and all keys within the same time. Every other refusal names its
 * reason to the holder of the key. This is not part of the test suite, because it would fail on a
 * busy machine.
 */

import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { Agent, request } from 'undici';
import { openPostgresStore } from '../packages/balance-store/dist/postgres/index.js';
import { callHeaders } from './headers.mjs';
import { query } from './plain-sql.mjs';
import { startSystem } from './system.mjs';

const LARGEST_DIFFERENCE_MS = 1;

/**
 * @param {object} options
 * @param {number} options.samples - number of requests of each kind, sent in turn
 * @param {boolean} options.isTimed - whether different times are a failure
 */
export async function tortureTiming({ samples, isTimed }, random, say) {
  const system = await startSystem({
    replicaCount: 1,
    env: { TRUST_PROXY: '1' },
    journalEntries: 10,
  });
  const agent = new Agent({ connections: 1 });
  const [replica] = system.replicas;
  const kinds = ['unknown', 'revoked', 'spent', 'expired', 'suspended'];
  const keys = {
    spent: await system.createKey('spent', { credit: 0n, concurrency: 5 }),
    expired: await system.createKey('expired', {
      credit: 10n ** 14n,
      concurrency: 5,
      expiresAt: new Date(Date.now() + 1),
    }),
    revoked: await system.createKey('revoked', { credit: 10n ** 14n, concurrency: 5 }),
    suspended: await system.createKey('suspended', { credit: 10n ** 14n, concurrency: 5 }),
  };
  await system.store.suspendKey(keys.suspended.id);
  await system.store.revokeKey(keys.revoked.id);
  const body = JSON.stringify({
    model: 'claude-haiku-4-5',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'Hello' }],
  });
  const times = Object.fromEntries(kinds.map((kind) => [kind, /** @type {number[]} */ ([])]));
  const answers = Object.fromEntries(kinds.map((kind) => [kind, new Set()]));
  const tally = { refused: 0 };
  const warmUp = 50;
  const strangers = await keysOfAnotherGateway(system.postgres.url, samples + warmUp);
  for (let i = 0; i < samples + warmUp; i += 1) {
    for (const kind of random.shuffle([...kinds])) {
      const credential = kind === 'unknown' ? strangers[i] : keys[kind].credential;
      const startedAt = performance.now();
      const response = await request(`${replica.url}/v1/messages`, {
        dispatcher: agent,
        method: 'POST',
        headers: {
          ...callHeaders(credential),
          // Each request has its own client address, because guesses are limited by address.
          'x-forwarded-for': [...randomBytes(4)].map(String).join('.'),
        },
        body,
      });
      const text = await response.body.text();
      const tookMs = performance.now() - startedAt;
      if (i >= warmUp) times[kind].push(tookMs);
      answers[kind].add(`${response.statusCode} ${JSON.stringify(JSON.parse(text).error)}`);
      tally.refused += 1;
    }
  }
  await system.drain();
  await agent.destroy();
  await system.stop();

  const medians = kinds.map((kind) => ({ kind, ms: median(times[kind]) }));
  say(medians.map(({ kind, ms }) => `${kind} ${ms.toFixed(3)} ms`).join(', '));
  const all = medians.map(({ ms }) => ms);
  const difference = Math.max(...all) - Math.min(...all);
  const words = kinds.flatMap((kind) => [...answers[kind]]);
  const isAsMeant =
    words.every((text) => text.startsWith('401 ')) &&
    words.length === kinds.length &&
    new Set(words).size === kinds.length - 1 &&
    words[0] === words[1];
  return {
    lines: [
      {
        name: 'words',
        what: 'all are refused with 401: unknown and revoked with the same text, every other with its reason',
        violations: isAsMeant ? 0 : 1,
        examples: words,
      },
      {
        name: 'time',
        what: `medians differ by ${difference.toFixed(3)} ms (${isTimed ? `must be below ${LARGEST_DIFFERENCE_MS} ms` : 'not checked'})`,
        violations: !isTimed || difference < LARGEST_DIFFERENCE_MS ? 0 : 1,
        examples: medians,
      },
    ],
    tally,
    done: { samples },
  };
}

/** Makes well-formed credentials that the gateway under test does not know. */
async function keysOfAnotherGateway(url, count) {
  await query(url, 'create database another_gateway');
  const elsewhere = new URL(url);
  elsewhere.pathname = '/another_gateway';
  const store = await openPostgresStore({ connectionString: elsewhere.href, pepper: 'another' });
  const credentials = [];
  while (credentials.length < count) {
    const { credential } = await store.createKey({
      name: 'stranger',
      limits: { concurrency: 1, burst: 1, requestsPerMinute: 1 },
      expiresAt: null,
    });
    credentials.push(credential);
  }
  await store.close();
  return credentials;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
