/**
 * The tests that every `BalanceStore` passes. They work with any test runner.
 *
 * ```ts no-run
 * import { after, before, describe, it } from 'node:test';
 * import { balanceStoreContract, type StoreUnderTest } from '@gateway/balance-store/testing';
 *
 * declare function open(): Promise<StoreUnderTest>; // yours, with an empty ledger
 * const runner = { describe, it, beforeAll: before, afterAll: after };
 * balanceStoreContract({ name: 'mine', runner, open });
 * ```
 */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { isWellFormedCredential } from '../credential.js';
import type { EntryFilter, LedgerEntry, SettledRates } from '../ledger-entry.js';
import { StoreUnavailableError } from '../store.js';
import type { BalanceStore, Settlement } from '../store.js';
import { accountsContract } from './accounts-contract.js';
import { archiveContract } from './archive-contract.js';
import { budgetsContract } from './budgets-contract.js';
import { chainsContract } from './chains-contract.js';
import { capsContract } from './caps-contract.js';
import { closeAccountContract } from './close-account-contract.js';
import { correctionsContract } from './corrections-contract.js';
import { originContract } from './origin-contract.js';
import { allowancesContract } from './allowances-contract.js';
import { creditsContract } from './credits-contract.js';
import { expiryContract } from './expiry-contract.js';
import { documentsContract } from './documents-contract.js';
import { eventPruningContract } from './event-pruning-contract.js';
import { mailedEventsContract } from './mailed-events-contract.js';
import { eventsContract } from './events-contract.js';
import { holdsContract } from './holds-contract.js';
import { listOrderContract } from './list-order-contract.js';
import { peppersContract } from './peppers-contract.js';
import { rotationContract } from './rotation-contract.js';
import { sampleLimits, settlement } from './samples.js';
import { sealsContract } from './seals-contract.js';
import { TESTS, USD } from './subject.js';
import type { ContractPart, ContractRunner, StoreUnderTest } from './subject.js';
import { requestsContract } from './requests-contract.js';
import { rightsContract } from './rights-contract.js';
import { spendingContract } from './spending-contract.js';
import { tamperingContract } from './tampering-contract.js';
import { timesContract } from './times-contract.js';
import { trailContract } from './trail-contract.js';
import { usageContract } from './usage-contract.js';

export interface ContractOptions {
  readonly name: string;
  readonly runner: ContractRunner;
  /** Opens a store whose ledger is empty. Called twice. */
  readonly open: () => Promise<StoreUnderTest>;
}

const DEADLINE = { deadlineMs: 20_000 };

export function balanceStoreContract({ name, runner, open }: ContractOptions): void {
  const { describe, it, beforeAll, afterAll } = runner;

  describe(`${name}: balance store contract`, () => {
    let subject: StoreUnderTest;
    beforeAll(async () => {
      subject = await open();
    });
    afterAll(() => subject.close());

    const part = createPart(runner, () => subject);
    const { newKey, accountOf, topUp, settle } = part;
    const entriesOf = async (keyId: string): Promise<readonly LedgerEntry[]> =>
      (await subject.store.listEntries({ accountId: await accountOf(keyId), limit: 5_000 }))
        .entries;
    const standingOf = async (keyId: string) => (await subject.store.readStanding(keyId)).standing;

    describe('keys', () => {
      it('createKey returns the only copy of a credential that finds the key', async () => {
        const { store } = subject;
        const expiresAt = new Date('2200-01-01T00:00:00.000Z');
        const { record, credential } = await store.createKey({
          name: 'Ünï "quoted" \\ name',
          limits: { concurrency: 1, burst: 2, requestsPerMinute: 0.5 },
          expiresAt,
        });
        assert.ok(isWellFormedCredential(credential));
        assert.ok(record.hint.startsWith(credential.slice(0, 7)));
        assert.ok(!credential.includes(record.hint));
        assert.equal(record.name, 'Ünï "quoted" \\ name');
        assert.deepEqual(record.limits, { concurrency: 1, burst: 2, requestsPerMinute: 0.5 });
        assert.deepEqual(record.expiresAt, expiresAt);
        assert.equal(record.state, 'active');
        assert.equal(record.isActive, false);
        assert.deepEqual([record.balance, record.spent, record.credited], [0n, 0n, 0n]);
        assert.equal(record.lastChargedAt, null);
        assert.deepEqual(await store.findKeyByCredential(credential), {
          ...record,
          presented: 'current',
        });
        assert.deepEqual(await store.getKey(record.id), record);
      });

      // F62
      it('a credential that was never issued finds nothing', async () => {
        const { credential } = await subject.store.createKey({
          name: 'test',
          limits: sampleLimits,
          expiresAt: null,
        });
        const last = credential.endsWith('0') ? '1' : '0';
        const forged = [
          '',
          'gw_',
          credential.toLowerCase(),
          ` ${credential}`,
          `${credential} `,
          credential.slice(0, -1) + last,
          'x'.repeat(1_000_000),
          // Well-formed, but issued by another store.
          'gw_tuPS0XElxF61vNcnz7ZdoIr1swb3F3oS6tr7QyhZnlM31FaMQ',
        ];
        for (const text of forged) {
          assert.equal(await subject.store.findKeyByCredential(text), undefined);
        }
      });

      it('look-ups by odd ids find nothing, and disturb none of the same moment', async () => {
        const { record } = await subject.store.createKey({
          name: 'test',
          limits: sampleLimits,
          expiresAt: null,
        });
        const odd = ['', '\0', '\ud800', '{"}', "'", '\\', 'NULL', 'x'.repeat(1_000_000)];
        const ids = odd.flatMap((id) => [record.id, id, record.id]);
        const found = await Promise.all(ids.map((id) => subject.store.getKey(id)));
        assert.deepEqual(
          found.map((key) => key?.id),
          odd.flatMap(() => [record.id, undefined, record.id]),
        );
      });

      it('keys and accounts are found by a part of their name, in upper or lower case', async () => {
        const { store } = subject;
        const mark = randomUUID();
        const name = `Frau MÜLLER 100% ${mark}`;
        const { record } = await store.createKey({ name, limits: sampleLimits, expiresAt: null });
        for (const part of [
          `müller 100% ${mark}`,
          `MüLLER 100% ${mark}`,
          `u mÜller 100% ${mark}`,
        ]) {
          const keys = await store.listKeys({ name: part, limit: 5 });
          const accounts = await store.listAccounts({ name: part, limit: 5 });
          assert.deepEqual(
            [keys, accounts].flat().map(({ id }) => id),
            [record.id, record.accountId],
          );
        }
        assert.deepEqual(await store.listKeys({ name: `mÜller 1000 ${mark}`, limit: 5 }), []);
      });

      it('listKeys returns the newest first, page by page', async () => {
        const ids = [await newKey(), await newKey(), await newKey(), await newKey()];
        const first = await subject.store.listKeys({ limit: 2 });
        const after = first.at(-1)?.id ?? '';
        const second = await subject.store.listKeys({ limit: 2, after });
        assert.deepEqual([...first, ...second].map(({ id }) => id).reverse(), ids);
      });

      it('resumeKey lifts a suspension; a revocation is permanent', async () => {
        const { store } = subject;
        const keyId = await newKey(USD);
        assert.equal((await store.suspendKey(keyId))?.state, 'suspended');
        assert.deepEqual(await store.readStanding(keyId), {
          standing: 'suspended',
          balance: USD,
          uncovered: 0n,
        });
        assert.equal((await store.suspendKey(keyId))?.isActive, false);
        assert.equal((await store.resumeKey(keyId))?.isActive, true);
        assert.equal(await standingOf(keyId), 'active');
        assert.equal((await store.revokeKey(keyId))?.state, 'revoked');
        assert.equal((await store.resumeKey(keyId))?.state, 'revoked');
        assert.equal((await store.suspendKey(keyId))?.state, 'revoked');
        assert.equal(await standingOf(keyId), 'revoked');
      });

      it('updateKey changes only the given fields, and the next look-up sees them', async () => {
        const { store } = subject;
        const { record, credential } = await store.createKey({
          name: 'before',
          limits: sampleLimits,
          expiresAt: null,
        });
        await store.findKeyByCredential(credential);
        const expected = { ...record, limits: { ...sampleLimits, burst: 99 } };
        assert.deepEqual(await store.updateKey(record.id, { limits: { burst: 99 } }), expected);
        assert.deepEqual(await store.findKeyByCredential(credential), {
          ...expected,
          presented: 'current',
        });
        assert.equal((await store.updateKey(record.id, { name: 'after' }))?.name, 'after');
        await assert.rejects(store.updateKey(record.id, { limits: { burst: 0 } }), RangeError);
        await assert.rejects(
          store.updateKey(record.id, { limits: { concurrency: 1.5 } }),
          RangeError,
        );
      });

      it('an expiry in the past takes effect at once, and null lifts it', async () => {
        const { store } = subject;
        const keyId = await newKey(USD);
        const past = new Date(Date.now() - 60_000);
        assert.equal((await store.updateKey(keyId, { expiresAt: past }))?.isActive, false);
        assert.deepEqual(await store.readStanding(keyId), {
          standing: 'expired',
          balance: USD,
          uncovered: 0n,
        });
        assert.equal((await store.updateKey(keyId, { expiresAt: null }))?.isActive, true);
        assert.equal(await standingOf(keyId), 'active');
      });

      it('getKey and all changes return undefined for an unknown key, and its standing is unknown', async () => {
        const { store } = subject;
        assert.equal(await store.getKey('key_none'), undefined);
        assert.equal(await store.suspendKey('key_none'), undefined);
        assert.equal(await store.resumeKey('key_none'), undefined);
        assert.equal(await store.revokeKey('key_none'), undefined);
        assert.equal(await store.updateKey('key_none', { name: 'x' }), undefined);
        assert.deepEqual(await store.readStanding('key_none'), { standing: 'unknown' });
      });
    });

    describe('settle', () => {
      it('records the whole charge and takes it from the balance', async () => {
        const keyId = await newKey(USD);
        const charge = settlement(keyId, {
          model: 'model "with" \\ {odd, characters} é 🙂',
          endpoint: 'chat.completions',
          streamed: true,
          upstreamId: undefined,
          upstreamAccount: 'eu',
          usage: {
            inputTokens: 1_234,
            outputTokens: 567,
            cacheReadInputTokens: 89_012,
            cacheCreationInputTokens: 3_456,
            cacheCreation1hInputTokens: 456,
          },
          remarks: 'cache_creation: "5m" and 1h, a\\b, do not add up',
          pricing: {
            terms: { speed: 'fast "\\ é', above_prompt_tokens: '100000' },
            fees: [{ what: 'web_search_requests', units: 3, perUnit: 1_000_000_000_001n }],
          },
          cost: 17n,
        });
        const balance = USD - charge.amount;
        assert.deepEqual(await settle(charge), {
          outcome: 'settled',
          balance,
          isActive: true,
          writtenOff: 0n,
        });
        const entry = await subject.store.findEntry(keyId, charge.requestId);
        assert.ok(entry?.kind === 'charge');
        const { amount, requestId, overdraft, ...recorded } = charge;
        assert.equal(overdraft, 'bounded');
        const { createdAt, ...found } = entry;
        assert.deepEqual(found, {
          spender: undefined,
          parts: [],
          ...recorded,
          id: requestId,
          accountId: await accountOf(keyId),
          overCap: 0n,
          given: 0n,
          kind: 'charge',
          delta: -amount,
          balanceAfter: balance,
          writtenOff: 0n,
          seq: 2n,
        });
        const key = await subject.store.getKey(keyId);
        assert.deepEqual(key?.lastChargedAt, createdAt);
        assert.deepEqual([key?.balance, key?.spent, key?.credited], [balance, amount, USD]);
        assert.deepEqual(await subject.store.readStanding(keyId), {
          standing: 'active',
          balance,
          uncovered: 0n,
        });
      });

      it('charges a replayed request once', async () => {
        const keyId = await newKey(USD);
        const charge = settlement(keyId);
        const first = await settle(charge);
        assert.deepEqual(await settle(charge), { ...first, outcome: 'replayed' });
        // The table of costs may have changed since.
        assert.deepEqual(await settle({ ...charge, cost: 5n }), { ...first, outcome: 'replayed' });
        assert.equal((await entriesOf(keyId)).length, 2);
      });

      // F13
      it('charges a request once although it is settled many times at once', async () => {
        const keyId = await newKey(USD);
        const charge = settlement(keyId);
        const outcomes = await Promise.all(Array.from({ length: 50 }, () => settle(charge)));
        const balance = USD - charge.amount;
        assert.equal(outcomes.filter(({ outcome }) => outcome === 'settled').length, 1);
        assert.equal(outcomes.filter(({ outcome }) => outcome === 'replayed').length, 49);
        assert.ok(outcomes.every((outcome) => 'balance' in outcome && outcome.balance === balance));
        assert.equal((await subject.store.getKey(keyId))?.balance, balance);
      });

      // F14
      it('reports a conflict for the same request with other contents, charges nothing, and the audit counts it', async () => {
        const [keyId, otherKey] = [await newKey(USD), await newKey(USD)];
        const charge = settlement(keyId);
        const before = (await subject.store.audit()).conflicts;
        await settle(charge);
        const others = [
          settlement(keyId, { requestId: charge.requestId, usage: { inputTokens: 1 } }),
          { ...charge, keyId: otherKey },
          { ...charge, upstreamId: 'msg_other' },
          { ...charge, upstreamAccount: 'other' },
          { ...charge, pricing: { terms: { speed: 'fast' }, fees: [] } },
        ];
        for (const other of others) assert.deepEqual(await settle(other), { outcome: 'conflict' });
        const twins = settlement(keyId);
        const atOnce = await Promise.all([settle(twins), settle({ ...twins, streamed: true })]);
        assert.deepEqual(atOnce.map(({ outcome }) => outcome).sort(), ['conflict', 'settled']);
        assert.equal((await subject.store.getKey(keyId))?.balance, USD - 2n * charge.amount);
        assert.equal((await subject.store.getKey(otherKey))?.balance, USD);
        assert.equal((await subject.store.audit()).conflicts, before + 6);
      });

      // F22
      it('records a request with a charge of zero', async () => {
        const keyId = await newKey(1n);
        const free = settlement(keyId, { usage: {} });
        assert.deepEqual(await settle(free), {
          outcome: 'settled',
          balance: 1n,
          isActive: true,
          writtenOff: 0n,
        });
        assert.equal((await entriesOf(keyId)).length, 2);
      });

      // F21
      it('a key is active with a balance of 10^-14 USD and exhausted with a balance of zero', async () => {
        const keyId = await newKey();
        assert.deepEqual(await subject.store.readStanding(keyId), {
          standing: 'exhausted',
          balance: 0n,
          uncovered: 0n,
        });
        await topUp(keyId, 1n);
        assert.deepEqual(await subject.store.readStanding(keyId), {
          standing: 'active',
          balance: 1n,
          uncovered: 0n,
        });
        const last = { usage: { inputTokens: 1 }, rates: { ...NO_RATES, inputPerToken: 1n } };
        assert.deepEqual(await settle(settlement(keyId, last)), {
          outcome: 'settled',
          balance: 0n,
          isActive: false,
          writtenOff: 0n,
        });
        assert.equal(await standingOf(keyId), 'exhausted');
      });

      it('the charge that crosses zero is taken in full; only a top-up to above zero enables the key', async () => {
        const keyId = await newKey(5n);
        const charge = settlement(keyId);
        const debt = 5n - charge.amount;
        assert.deepEqual(await settle(charge), {
          outcome: 'settled',
          balance: debt,
          isActive: false,
          writtenOff: 0n,
        });
        assert.deepEqual(await topUp(keyId, -debt), {
          outcome: 'credited',
          accountId: await accountOf(keyId),
          balance: 0n,
          activeKeys: 0,
        });
        assert.equal(await standingOf(keyId), 'exhausted');
        assert.deepEqual(await topUp(keyId, 1n), {
          outcome: 'credited',
          accountId: await accountOf(keyId),
          balance: 1n,
          activeKeys: 1,
        });
        assert.equal(await standingOf(keyId), 'active');
      });

      // F24
      it('is exact for ten million tokens at 1,000 USD per million on a balance of 10^9 USD', async () => {
        const keyId = await newKey(10n ** 9n * USD);
        const charge = settlement(keyId, {
          usage: { inputTokens: 10_000_000 },
          rates: { ...NO_RATES, inputPerToken: USD / 1_000n },
        });
        assert.equal(charge.amount, 10_000n * USD);
        await settle(charge);
        await settle(
          settlement(keyId, {
            usage: { inputTokens: 1 },
            rates: { ...NO_RATES, inputPerToken: 1n },
          }),
        );
        assert.equal((await subject.store.getKey(keyId))?.balance, 999_990_000n * USD - 1n);
      });

      it('also charges a revoked key, because the work was done', async () => {
        const keyId = await newKey(USD);
        await subject.store.revokeKey(keyId);
        const charge = settlement(keyId);
        const balance = USD - charge.amount;
        assert.deepEqual(await settle(charge), {
          outcome: 'settled',
          balance,
          isActive: false,
          writtenOff: 0n,
        });
      });

      // F17: 1,000 charges of one key at once: all exact, numbered without a gap. No latency is
      // asserted; docs/performance.md has the cost of a charge.
      it('numbers a thousand simultaneous settlements of one key without gaps', async () => {
        const keyId = await newKey(USD);
        const charges = Array.from({ length: 1_000 }, (_, index) =>
          settlement(keyId, { usage: { inputTokens: index, outputTokens: 1 } }),
        );
        const outcomes = await Promise.all(charges.map(settle));
        assert.ok(outcomes.every(({ outcome }) => outcome === 'settled'));
        const entries = [...(await entriesOf(keyId))].reverse();
        let balance = 0n;
        entries.forEach((entry, index) => {
          balance += entry.delta;
          assert.equal(entry.seq, BigInt(index + 1));
          assert.equal(entry.balanceAfter, balance);
        });
        const spent = charges.reduce((sum, charge) => sum + charge.amount, 0n);
        assert.equal((await subject.store.getKey(keyId))?.balance, USD - spent);
      });

      // F15
      it('quarantines the malformed settlements of a full batch and settles the rest', async () => {
        const keyId = await newKey(USD);
        const before = (await subject.store.audit()).quarantined;
        const good = Array.from({ length: 490 }, () => settlement(keyId));
        const malformed = [
          settlement(keyId, { amount: -1n }),
          settlement(keyId, { rates: { ...NO_RATES, inputPerToken: 10n ** 36n } }),
          settlement(keyId, {
            usage: { inputTokens: 2 ** 31 - 1 },
            rates: { ...NO_RATES, inputPerToken: 10n ** 33n },
          }),
          settlement(keyId, { model: 'a\0b' }),
          settlement(keyId, { requestId: `req\0${randomUUID()}` }),
          settlement(keyId, { usage: { inputTokens: -1, outputTokens: 1 } }),
          settlement(keyId, { usage: { outputTokens: 2 ** 31 } }),
          settlement(keyId, { usage: { cacheCreation1hInputTokens: 2 } }),
          settlement('key_none'),
          { ...settlement(keyId), usage: { ...settlement(keyId).usage, inputTokens: 1.5 } },
          { ...settlement(keyId), usage: { ...settlement(keyId).usage, inputTokens: NaN } },
        ];
        const shuffled = [...good, ...malformed].sort((a, b) =>
          a.requestId < b.requestId ? -1 : 1,
        );
        const outcomes = await Promise.all(
          shuffled.map(async (charge) => ({ charge, outcome: (await settle(charge)).outcome })),
        );
        for (const { charge, outcome } of outcomes) {
          assert.equal(outcome, malformed.includes(charge) ? 'quarantined' : 'settled');
        }
        assert.equal((await subject.store.audit()).quarantined, before + malformed.length);
        assert.equal((await entriesOf(keyId)).length, good.length + 1);
      });

      // F311: a settlement that would make the ledger unsound for ever: an amount that is not that
      // of its tokens, rates and fees, a negative rate or cost, the id of another kind of entry:
      // nothing is charged, it is quarantined for a reason that names the member.
      it('charges no settlement that would make the ledger unsound', async () => {
        const { store } = subject;
        const keyId = await newKey(USD);
        const before = await store.audit();
        const topUpId = randomUUID();
        const one = { inputPerToken: 1n, outputPerToken: 1n };
        const rates = { ...NO_RATES, ...one };
        const usage = { inputTokens: 2, outputTokens: 1 };
        const fee = { what: 'web_search_requests', units: 2, perUnit: 5n };
        const withFee = (changed: Partial<typeof fee>) => ({
          usage,
          rates,
          pricing: { terms: {}, fees: [{ ...fee, ...changed }] },
        });
        const unsound: readonly (readonly [member: RegExp, charge: Settlement])[] = [
          [/^amount is 7, .* cost 3$/, settlement(keyId, { usage, rates, amount: 7n })],
          [/^amount is 2, .* cost 3$/, settlement(keyId, { usage, rates, amount: 2n })],
          [/^amount is 3, .* cost 13$/, settlement(keyId, { ...withFee({}), amount: 3n })],
          [
            /^rates\.outputPerToken is negative$/,
            settlement(keyId, { usage, rates: { ...rates, outputPerToken: -1n } }),
          ],
          [
            /^rates\.cacheWrite1hPerToken is negative$/,
            settlement(keyId, { usage, rates: { ...rates, cacheWrite1hPerToken: -1n } }),
          ],
          [/^pricing\.fees is negative$/, settlement(keyId, withFee({ perUnit: -1n }))],
          [/^pricing\.fees: -1 units/, settlement(keyId, withFee({ units: -1 }))],
          [/^cost is negative$/, settlement(keyId, { cost: -5n })],
          [
            /^usage\.cacheCreation1hInputTokens is more than/,
            settlement(keyId, {
              usage: { cacheCreationInputTokens: 1, cacheCreation1hInputTokens: 2 },
            }),
          ],
          [/^requestId must have 1 to 500/, settlement(keyId, { requestId: '' })],
          [/^requestId must have 1 to 500/, settlement(keyId, { requestId: 'r'.repeat(501) })],
          ...[
            `topup:${topUpId}`,
            `adjustment:${topUpId}`,
            `transfer:${topUpId}:in`,
            `expiry:topup:${topUpId}:2`,
            `allowance:${topUpId}:2026-12`,
          ].map(
            (requestId) => [/^requestId begins with/, settlement(keyId, { requestId })] as const,
          ),
        ];
        for (const [member, charge] of unsound) {
          const outcome = await settle(charge);
          assert.equal(outcome.outcome, 'quarantined', String(member));
          assert.match(outcome.reason, member);
        }
        assert.equal((await topUp(keyId, 1n, topUpId)).outcome, 'credited');
        assert.equal((await store.getKey(keyId))?.balance, USD + 1n);
        const after = await store.audit();
        assert.deepEqual(after.differences, before.differences);
        assert.equal(after.quarantined, before.quarantined + unsound.length);
      });
    });

    describe('quarantine', () => {
      it('keeps a usage once and charges nothing', async () => {
        const keyId = await newKey(USD);
        const before = (await subject.store.audit()).quarantined;
        const usage = { requestId: randomUUID(), keyId, model: 'm\0', reason: 'negative tokens' };
        await subject.store.quarantine(usage);
        await subject.store.quarantine(usage);
        assert.equal((await subject.store.audit()).quarantined, before + 1);
        assert.equal((await subject.store.getKey(keyId))?.balance, USD);
      });

      it('lists what was quarantined in a range of time, oldest first', async () => {
        const { store } = subject;
        const keyId = await newKey();
        const [first, second] = [1, 2].map((number) => ({
          requestId: randomUUID(),
          keyId,
          model: 'm',
          reason: `reason ${String(number)}`,
        }));
        assert.ok(first !== undefined && second !== undefined);
        await store.quarantine(first);
        await store.quarantine(second);
        const moment = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms);
        const { time } = subject.literal;
        for (const [usage, ms] of [[first, 2] as const, [second, 1] as const]) {
          await subject.tamper(
            `UPDATE quarantine SET created_at = ${time(moment(ms))} ` +
              `WHERE request_id = '${usage.requestId}'`,
          );
        }
        const list = (from: number, until: number, limit = 10) =>
          store.listQuarantined({ from: moment(from), until: moment(until), limit });
        const listed = [
          { ...second, createdAt: moment(1) },
          { ...first, createdAt: moment(2) },
        ];
        assert.deepEqual(await list(1, 3), listed);
        assert.deepEqual(await list(1, 2), listed.slice(0, 1));
        assert.deepEqual(await list(2, 3), listed.slice(1));
        assert.deepEqual(await list(0, 9, 1), listed.slice(0, 1));
      });
    });

    describe('topUp', () => {
      // F19
      it('credits once when it is sent ten times at once', async () => {
        const keyId = await newKey();
        const topUpId = randomUUID();
        const outcomes = await Promise.all(
          Array.from({ length: 10 }, () => topUp(keyId, 7n * USD, topUpId)),
        );
        assert.equal(outcomes.filter(({ outcome }) => outcome === 'credited').length, 1);
        assert.equal(outcomes.filter(({ outcome }) => outcome === 'replayed').length, 9);
        const [entry, ...others] = await entriesOf(keyId);
        assert.equal(others.length, 0);
        assert.ok(entry?.kind === 'top_up');
        assert.deepEqual(
          [entry.id, entry.delta, entry.actor],
          [`topup:${topUpId}`, 7n * USD, 'tests'],
        );
      });

      // F19
      it('reports a conflict for a used id with another amount or key, and credits nothing', async () => {
        const [keyId, otherKey] = [await newKey(), await newKey()];
        const topUpId = randomUUID();
        await topUp(keyId, 7n, topUpId);
        assert.deepEqual(await topUp(keyId, 8n, topUpId), { outcome: 'conflict' });
        assert.deepEqual(await topUp(otherKey, 7n, topUpId), { outcome: 'conflict' });
        assert.equal((await subject.store.getKey(keyId))?.balance, 7n);
        assert.equal((await subject.store.getKey(otherKey))?.balance, 0n);
      });

      it('refuses an unknown key, and an amount that is not above zero', async () => {
        assert.deepEqual(await topUp('key_none', 1n), { outcome: 'unknown' });
        const keyId = await newKey();
        await assert.rejects(topUp(keyId, 0n), RangeError);
        await assert.rejects(topUp(keyId, -1n), RangeError);
      });

      // F18
      it('is never lost when it races the charge that exhausts the key', async () => {
        for (let round = 0; round < 100; round += 1) {
          const keyId = await newKey(1n);
          const charge = settlement(keyId);
          const [settled, credited] = await Promise.all([
            settle(charge),
            topUp(keyId, charge.amount),
          ]);
          assert.deepEqual([settled.outcome, credited.outcome], ['settled', 'credited']);
          assert.deepEqual(await subject.store.readStanding(keyId), {
            standing: 'active',
            balance: 1n,
            uncovered: 0n,
          });
        }
      });
    });

    eventPruningContract(part);
    mailedEventsContract(part);
    requestsContract(part);
    holdsContract(part);
    accountsContract(part);
    peppersContract(part);
    rotationContract(part);
    correctionsContract(part);
    closeAccountContract(part);
    creditsContract(part);
    expiryContract(part);
    allowancesContract(part);
    timesContract(part);
    budgetsContract(part);
    chainsContract(part);
    capsContract(part);
    listOrderContract(part);
    usageContract(part);
    spendingContract(part);
    documentsContract(part);
    eventsContract(part);
    trailContract(part);

    describe('entries', () => {
      it('findEntry finds a charge only for the key that made it', async () => {
        const [keyId, otherKey] = [await newKey(USD), await newKey()];
        const charge = settlement(keyId);
        await settle(charge);
        const found = await subject.store.findEntry(keyId, charge.requestId);
        assert.ok(found?.kind === 'charge');
        assert.equal(found.keyId, keyId);
        assert.equal(await subject.store.findEntry(otherKey, charge.requestId), undefined);
        assert.equal(await subject.store.findEntry(keyId, 'req_none'), undefined);
      });

      // F210
      it('listEntries finds the charges of a message, of all keys or of one', async () => {
        const [keyId, otherKey] = [await newKey(USD), await newKey(USD)];
        const upstreamId = `msg_${keyId}`;
        const charges = [keyId, keyId, otherKey].map((id) => ({ ...settlement(id), upstreamId }));
        await Promise.all([...charges, settlement(keyId)].map(settle));
        const idsOf = async (filter: Partial<EntryFilter>): Promise<readonly string[]> => {
          const page = await subject.store.listEntries({ upstreamId, limit: 10, ...filter });
          return page.entries.map(({ id }) => id).sort();
        };
        const ids = charges.map(({ requestId }) => requestId);
        assert.deepEqual(await idsOf({}), [...ids].sort());
        const { accountId } = (await subject.store.getKey(keyId)) ?? {};
        assert.ok(accountId !== undefined);
        assert.deepEqual(await idsOf({ accountId, keyId }), ids.slice(0, 2).sort());
        assert.deepEqual(await idsOf({ upstreamId: 'msg_none' }), []);
      });

      it('findEntries returns the entries that exist, of any key', async () => {
        const charges = [settlement(await newKey(USD)), settlement(await newKey(USD))];
        await Promise.all(charges.map(settle));
        const ids = charges.map(({ requestId }) => requestId);
        const found = await subject.store.findEntries([...ids, 'req_none']);
        assert.deepEqual(found.map(({ id }) => id).sort(), ids.sort());
        assert.deepEqual(await subject.store.findEntries([]), []);
      });

      it('listEntries pages through every entry once, newest first, for one account and for the whole ledger', async () => {
        const keyId = await newKey(USD);
        await Promise.all(Array.from({ length: 24 }, () => settle(settlement(keyId))));
        const own = await collect(subject.store, {
          accountId: await accountOf(keyId),
          limit: 7,
        });
        assert.deepEqual(
          own.map(({ seq }) => seq),
          Array.from({ length: 25 }, (_, i) => 25n - BigInt(i)),
        );
        const all = await collect(subject.store, { limit: 400 });
        const { entries } = await subject.store.audit();
        assert.equal(all.length, entries);
        assert.equal(new Set(all.map(({ id }) => id)).size, entries);
        const times = all.map(({ createdAt }) => createdAt.getTime());
        assert.deepEqual(
          times,
          [...times].sort((a, b) => b - a),
        );
      });

      it('listEntries filters by model, kind and time', async () => {
        const { store } = subject;
        const keyId = await newKey(USD);
        const rare = settlement(keyId, { model: `rare-${randomUUID()}` });
        await settle(settlement(keyId));
        await settle(rare);
        const byModel = await store.listEntries({ model: rare.model, limit: 10 });
        assert.deepEqual(
          byModel.entries.map(({ id }) => id),
          [rare.requestId],
        );
        assert.equal(byModel.next, undefined);
        const topUps = await store.listEntries({
          accountId: await accountOf(keyId),
          kind: 'top_up',
          limit: 10,
        });
        assert.deepEqual(
          topUps.entries.map(({ kind }) => kind),
          ['top_up'],
        );
        const at = byModel.entries[0]?.createdAt ?? new Date(0);
        const next = new Date(at.getTime() + 1);
        const count = async (from: Date, until: Date) =>
          (await store.listEntries({ model: rare.model, from, until, limit: 10 })).entries.length;
        assert.equal(await count(at, next), 1);
        assert.equal(await count(new Date(0), at), 0);
        assert.equal(await count(next, new Date(next.getTime() + 1_000)), 0);
      });

      it('listEntries refuses a cursor that it did not return', async () => {
        const keyId = await newKey();
        for (const cursor of ['', 'x', 'MTIz', '!!']) {
          await assert.rejects(subject.store.listEntries({ limit: 1, cursor }), RangeError);
        }
        await assert.rejects(
          subject.store.listEntries({
            accountId: await accountOf(keyId),
            limit: 1,
            cursor: 'eHk',
          }),
          RangeError,
        );
      });
    });

    describe('summary', () => {
      it('counts keys by standing, quarantined usage and conflicts, and sums the balances above and below zero', async () => {
        const { store } = subject;
        const before = await store.summarize();
        const [, suspended, expired, revoked, overdrawn] = await Promise.all(
          [USD, 2n * USD, 3n * USD, 4n * USD, 5n, 0n].map((balance) => newKey(balance)),
        );
        await store.suspendKey(suspended ?? '');
        await store.updateKey(expired ?? '', { expiresAt: new Date(0) });
        await store.revokeKey(revoked ?? '');
        const charge = settlement(overdrawn ?? '');
        await settle(charge);
        await settle({ ...charge, model: 'another' });
        await store.quarantine({
          requestId: randomUUID(),
          keyId: overdrawn ?? '',
          model: 'claude-test',
          reason: 'a test',
        });
        const head = await store.sealEntries({ all: true });
        const after = await store.summarize();
        const more = (standing: keyof typeof before.keys) =>
          after.keys[standing] - before.keys[standing];
        assert.deepEqual(
          [more('active'), more('suspended'), more('expired'), more('revoked'), more('exhausted')],
          [1, 1, 1, 1, 2],
        );
        assert.equal(after.unspent - before.unspent, 10n * USD);
        assert.equal(after.overdrawn - before.overdrawn, charge.amount - 5n);
        assert.equal(after.quarantined - before.quarantined, 1);
        assert.equal(after.conflicts - before.conflicts, 1);
        assert.ok(head !== undefined && after.lastSealAt instanceof Date);
      });
    });

    describe('audit', () => {
      it('finds the ledger of all these tests sound, and every acknowledged charge in it', async () => {
        const keyId = await newKey(USD);
        const before = await subject.store.audit();
        const charges = Array.from({ length: 200 }, () => settlement(keyId));
        await Promise.all(charges.map(settle));
        const after = await subject.store.audit();
        assert.deepEqual(after.differences, []);
        assert.ok(after.isSound);
        assert.equal(after.gap, 0n);
        const acknowledged = charges.reduce((sum, { amount }) => sum + amount, 0n);
        assert.equal(after.charged - before.charged, acknowledged);
        assert.equal(after.entries - before.entries, charges.length);
      });

      it('reports how many entries it has read so far, up to all of them', async () => {
        const progress: number[] = [];
        const { entries } = await subject.store.audit({
          onProgress: (done) => {
            progress.push(done.entries);
          },
        });
        assert.equal(progress.at(-1), entries);
        assert.deepEqual(
          progress,
          [...progress].sort((a, b) => a - b),
        );
      });

      it('finds no difference while settlements go on', async () => {
        const keyId = await newKey(USD);
        let isRunning = true;
        const writer = (async () => {
          while (isRunning) await Promise.all([1, 2, 3, 4].map(() => settle(settlement(keyId))));
        })();
        for (let round = 0; round < 3; round += 1) {
          const { differences } = await subject.store.audit();
          assert.deepEqual(differences, []);
        }
        isRunning = false;
        await writer;
      });

      it('reports an amount that differs from tokens times rates', async () => {
        const keyId = await newKey(USD);
        const charge = settlement(keyId);
        await settle(charge);
        const setOutputTokens = (tokens: number) =>
          subject.tamper(
            `UPDATE ledger SET output_tokens = ${String(tokens)} WHERE id = '${charge.requestId}'`,
            'disabled',
          );
        await setOutputTokens(charge.usage.outputTokens + 1);
        const { isSound, differences } = await subject.store.audit();
        assert.equal(isSound, false);
        assert.deepEqual(
          differences.filter(({ check }) => check === 'amount'),
          [
            {
              check: 'amount',
              accountId: await accountOf(keyId),
              keyId,
              entryId: charge.requestId,
              expected: (-charge.amount - charge.rates.outputPerToken).toString(),
              found: (-charge.amount).toString(),
            },
          ],
        );
        await setOutputTokens(charge.usage.outputTokens);
      });

      it('the database refuses to rewrite entries and to delete keys', async () => {
        for (const sql of [
          'UPDATE ledger SET delta = 0',
          'DELETE FROM ledger',
          'DELETE FROM api_key',
          'DELETE FROM account',
          'UPDATE trail SET actor = actor',
          'DELETE FROM trail',
        ]) {
          await assert.rejects(subject.tamper(sql), /refused/);
        }
      });
    });

    describe('audit of a ledger that was tampered with', () => {
      // F30
      it('finds the changes to entries and balances that were made with the triggers disabled', async () => {
        const known = (await subject.store.audit()).differences.length;
        const keys = await Promise.all([1, 2, 3, 4, 5].map(() => newKey(USD)));
        const accounts = await Promise.all(keys.map(accountOf));
        const changed: string[] = [];
        for (const keyId of keys) {
          const charges = Array.from({ length: 3 }, () => settlement(keyId));
          for (const charge of charges) await settle(charge);
          changed.push(charges[1]?.requestId ?? '');
        }
        const { literal } = subject;
        await subject.tamper(
          `UPDATE ledger SET delta = '-0.00000000000001' WHERE id = '${changed[0] ?? ''}';
          UPDATE ledger SET input_tokens = input_tokens + 1 WHERE id = '${changed[1] ?? ''}';
          DELETE FROM ledger WHERE id = '${changed[2] ?? ''}';
          INSERT INTO ledger (id, account_id, seq, kind, delta, balance_after, input_hash, created_at, actor, source)
            SELECT 'forged', account_id, 99, 'top_up', '1.00000000000000', '1.00000000000000',
              ${literal.bytes(Buffer.alloc(0))}, created_at, 'x', 'paid'
            FROM ledger WHERE id = '${changed[3] ?? ''}';
          UPDATE account SET balance = '7.00000000000000' WHERE id = '${accounts[4] ?? ''}'`,
          'disabled',
        );
        const { differences, gap } = await subject.store.audit();
        const found = new Set(
          differences.map(({ check, accountId }) => `${String(accountId)} ${check}`),
        );
        const expected = [
          `${accounts[0] ?? ''} amount`,
          `${accounts[0] ?? ''} running_balance`,
          `${accounts[0] ?? ''} balance`,
          `${accounts[1] ?? ''} amount`,
          `${accounts[2] ?? ''} sequence`,
          `${accounts[2] ?? ''} account_totals`,
          `${accounts[3] ?? ''} sequence`,
          `${accounts[4] ?? ''} balance`,
          'undefined total',
        ];
        for (const difference of expected) assert.ok(found.has(difference), difference);
        assert.ok(differences.length > known);
        assert.notEqual(gap, 0n);
      });
    });

    describe('close', () => {
      it('waits for pending settlements and accepts no more', async () => {
        const { store } = subject;
        const keyId = await newKey(USD);
        const pending = Array.from({ length: 100 }, () => settle(settlement(keyId)));
        assert.equal(store.pendingSettlements(), 100);
        await store.ping();
        await store.close();
        assert.equal(store.pendingSettlements(), 0);
        const outcomes = await Promise.all(pending);
        assert.ok(outcomes.every(({ outcome }) => outcome === 'settled'));
        await assert.rejects(settle(settlement(keyId)), StoreUnavailableError);
        await assert.rejects(store.readStanding(keyId), StoreUnavailableError);
        await assert.rejects(store.getKey(keyId), StoreUnavailableError);
        await assert.rejects(store.ping(), StoreUnavailableError);
        await store.close();
      });
    });
  });

  // Nearly every test of these parts reads the whole ledger, so they have a small one.
  describe(`${name}: balance store contract, of whole ledgers`, () => {
    let subject: StoreUnderTest;
    beforeAll(async () => {
      subject = await open();
    });
    afterAll(() => subject.close());

    const part = createPart(runner, () => subject);
    // First, because the seals leave a ledger that is not sound.
    archiveContract(part);
    originContract(part);
    rightsContract(part);
    tamperingContract(part);
    sealsContract(part);
  });
}

/** Shorthands for the store that is open while tests run. */
function createPart(runner: ContractRunner, subject: () => StoreUnderTest): ContractPart {
  const newKey = async (balance = 0n) => {
    const { record } = await subject().store.createKey({
      name: 'test',
      limits: sampleLimits,
      expiresAt: null,
    });
    if (balance > 0n) await topUp(record.id, balance);
    return record.id;
  };
  const topUp = (keyId: string, amount: bigint, topUpId: string = randomUUID()) =>
    subject().store.topUp({ topUpId, to: { keyId }, amount, by: { name: 'tests' } });
  const accountOf = async (keyId: string) =>
    (await subject().store.getKey(keyId))?.accountId ?? 'acct_none';
  const settle = (charge: Settlement) => subject().store.settle(charge, DEADLINE);
  const newAccount: ContractPart['newAccount'] = async (balance, ...keys) => {
    const { store } = subject();
    const created = await store.create({ account: { name: 'test' }, by: TESTS });
    assert.ok(created.outcome === 'created');
    const to = { accountId: created.account.id };
    const keyIds: string[] = [];
    for (const key of keys) {
      const sample = { name: 'test', limits: sampleLimits, expiresAt: null, ...key };
      const added = await store.create({ account: created.account, key: sample, by: TESTS });
      assert.ok(added.outcome === 'created' && added.key !== undefined);
      keyIds.push(added.key.id);
    }
    if (balance > 0n) {
      await store.topUp({ topUpId: randomUUID(), to, amount: balance, by: TESTS });
    }
    return { ...to, keyIds };
  };
  const balanceOf = async (accountId: string) =>
    (await subject().store.getAccount(accountId))?.balance ?? 0n;
  return { runner, subject, newKey, accountOf, newAccount, balanceOf, topUp, settle };
}

const NO_RATES: SettledRates = {
  inputPerToken: 0n,
  outputPerToken: 0n,
  cacheReadPerToken: 0n,
  cacheWrite5mPerToken: 0n,
  cacheWrite1hPerToken: 0n,
};

async function collect(
  store: BalanceStore,
  filter: { readonly accountId?: string; readonly limit: number },
): Promise<readonly LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.listEntries({
      ...filter,
      ...(cursor === undefined ? {} : { cursor }),
    });
    entries.push(...page.entries);
    cursor = page.next;
  } while (cursor !== undefined);
  return entries;
}
