/**
 * What an account may have in flight, and how far its balance may fall, whatever is done with its
 * keys: any sequence of operations on keys, interleaved with requests that begin and end.
 */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseUsd } from '@gateway/billing';
import { runs } from '../../../../scripts/runs.cjs';
import { startGatedUpstream } from '../support/gated-upstream.js';
import type { GatedUpstream } from '../support/gated-upstream.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { until } from '../support/until.js';

const ACCOUNT_CONCURRENCY = 4;
/** The price of the gated upstream's model, in units of 10^-14 USD for each token. */
const [INPUT, OUTPUT] = [300_000_000n, 1_500_000_000n];

let upstream: GatedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startGatedUpstream();
  gateway = await startTestGateway({
    env: { UPSTREAM_URL: upstream.url, ACCOUNT_CONCURRENCY: String(ACCOUNT_CONCURRENCY) },
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

/** One account, and what was done with it. */
interface Account {
  readonly id: string;
  readonly keys: { readonly id: string; apiKey: string }[];
  readonly requests: Promise<number>[];
  refused: number;
  begun: number;
}

type Operation = (account: Account, pick: number) => Promise<unknown>;

const keyOf = ({ keys }: Account, pick: number) => keys[pick % keys.length]!;

const operations: Readonly<Record<string, Operation>> = {
  async begin(account, pick) {
    const { apiKey } = keyOf(account, pick);
    account.begun += 1;
    const ask = async (): Promise<number> => {
      const response = await postMessages(gateway, apiKey, userMessage('Hello'));
      await response.text();
      if (response.status !== 200) account.refused += 1;
      return response.status;
    };
    account.requests.push(ask());
    await until(() => upstream.waiting() + account.refused === account.begun);
  },
  async end(account) {
    upstream.open();
    for (const status of await Promise.all(account.requests)) {
      expect([200, 401, 402, 429]).toContain(status);
    }
    upstream.shut();
    Object.assign(account, { refused: 0, begun: 0 });
    account.requests.length = 0;
  },
  async create(account) {
    account.keys.push(await newKey({ account_id: account.id }));
  },
  revoke: async (account, pick) => gateway.call('revokeKey', { key_id: keyOf(account, pick).id }),
  suspend: async (account, pick) => gateway.call('suspendKey', { key_id: keyOf(account, pick).id }),
  async resume(account, pick) {
    // A revoked key cannot be resumed.
    await gateway.call('resumeKey', { key_id: keyOf(account, pick).id }).catch(() => undefined);
  },
  async rotate(account, pick) {
    const key = keyOf(account, pick);
    const rotated = await gateway
      .call('rotateKey', { key_id: key.id, grace_seconds: pick % 2 === 0 ? 0 : 60 })
      .catch(() => undefined);
    key.apiKey = rotated?.api_key ?? key.apiKey;
  },
  async cap(account, pick) {
    const cap_total_usd = pick % 3 === 0 ? null : '0.0001';
    await gateway.call('updateKey', { key_id: keyOf(account, pick).id, cap_total_usd });
  },
  credit: async (account) =>
    gateway.call('topUpAccount', {
      account_id: account.id,
      top_up_id: `credit:${randomUUID()}`,
      amount_usd: '0.000001',
      // Its keys may all be suspended.
      anyway: true,
    }),
};

async function newKey(input: { readonly account_id: string } | { readonly balance_usd: string }) {
  const created = await gateway.call('createKey', { name: 'key', concurrency: 3, ...input });
  return { id: created.id, apiKey: created.api_key ?? '', accountId: created.account_id };
}

const steps = fc.array(
  fc.tuple(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom('begin', 'create') },
      { weight: 2, arbitrary: fc.constantFrom(...Object.keys(operations)) },
    ),
    fc.nat(30),
  ),
  { minLength: 15, maxLength: 40 },
);

/** Two keys, each allowed 3 in flight: without a bound per account, 6 would be. */
const reachesTheBound: [string, number][] = [
  ['create', 0],
  ...Array.from({ length: 6 }, (_, n): [string, number] => ['begin', n]),
];

// F168: any sequence of operations on keys between requests that begin and end: never more in
// flight, and the balance never below that number of charges.
it('no sequence of operations on keys takes more than ACCOUNT_CONCURRENCY requests in flight, or the balance below their charges', async () => {
  let most = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      upstream.shut();
      const { accountId: id, ...key } = await newKey({ balance_usd: '0.000001' });
      const account: Account = { id, keys: [key], requests: [], refused: 0, begun: 0 };
      for (const [name, pick] of [...sequence, ['end', 0] as const]) {
        await operations[name]!(account, pick);
        most = Math.max(most, upstream.waiting());
        expect(upstream.waiting()).toBeLessThanOrEqual(ACCOUNT_CONCURRENCY);
        expect(await gateway.running.appParts.limiter.leases(id)).toBe(upstream.waiting());
        const { balance_usd } = await gateway.call('showAccount', { account_id: id });
        const lowest = -BigInt(ACCOUNT_CONCURRENCY) * dearest();
        expect(parseUsd(balance_usd)).toBeGreaterThanOrEqual(lowest);
      }
    }),
    { numRuns: runs(__filename, 'accounts'), examples: [[reachesTheBound]] },
  );
  expect(most).toBe(ACCOUNT_CONCURRENCY);
});

function dearest(): bigint {
  const charges = upstream.served.map(
    ({ input, output }) => BigInt(input) * INPUT + BigInt(output) * OUTPUT,
  );
  return charges.reduce((most, charge) => (charge > most ? charge : most), 0n);
}
