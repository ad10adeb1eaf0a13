/** The part of the contract about the record of requests. */

import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { REQUEST_PERIOD_MS } from '../request-record.js';
import type { RequestQuery, RequestRecord } from '../request-record.js';
import type { BalanceStore } from '../store.js';
import { requestRecord } from './samples.js';
import { TESTS, closeAny } from './subject.js';
import type { ContractPart } from './subject.js';

const NOTHING_OLD = { before: new Date(0), maxKept: Number.MAX_SAFE_INTEGER };

export function requestsContract({ runner, subject, newAccount }: ContractPart): void {
  const { describe, it } = runner;
  let clock = Math.floor(Date.now() / REQUEST_PERIOD_MS) * REQUEST_PERIOD_MS - 3_600_000;

  /** A request that ends after all earlier ones. */
  function newRequest(changes: Partial<RequestRecord> = {}): RequestRecord {
    clock += 10;
    const { endedAt = clock, durationMs = 5 } = changes;
    const time = (endedAt - durationMs).toString(16).padStart(12, '0');
    const id = `req_${time}7${randomBytes(10).toString('hex').slice(1)}`;
    return requestRecord({ id, endedAt, durationMs, ...changes });
  }

  const record = (store: BalanceStore, ...kept: readonly RequestRecord[]) =>
    store.recordRequests({ kept, counted: [] });

  /** Follows the cursors to the end. */
  async function listAll(query: RequestQuery): Promise<readonly RequestRecord[]> {
    const found: RequestRecord[] = [];
    let cursor: string | undefined;
    do {
      const page = await subject().store.listRequests({
        ...query,
        ...(cursor === undefined ? {} : { cursor }),
      });
      assert.ok(page.requests.length <= query.limit);
      found.push(...page.requests);
      cursor = page.next;
    } while (cursor !== undefined);
    return found;
  }

  describe('the record of requests', () => {
    it('lists what was recorded, with every member, the last one first', async () => {
      const { store } = subject();
      const accountId = `acct_${randomUUID()}`;
      const charged = newRequest({ accountId, sessionId: 'session', traceId: 'trace' });
      const failed = newRequest({
        accountId,
        keyId: undefined,
        model: undefined,
        status: 502,
        errorType: 'api_error',
        upstreamAccount: 'second',
        firstByteMs: undefined,
        streamed: false,
        clientLeft: true,
        tokens: undefined,
        charge: undefined,
        errorMessage: 'the upstream did not answer',
        fault: 'ECONNREFUSED',
        upstreamStatus: undefined,
        upstreamRequestId: undefined,
        client: undefined,
        count: 7,
      });
      await record(store, charged, failed);
      assert.deepEqual(await store.listRequests({ accountId, limit: 10 }), {
        requests: [failed, charged],
      });
    });

    it('lists page by page without a gap or a repetition', async () => {
      const { store } = subject();
      const accountId = `acct_${randomUUID()}`;
      const other = { accountId: `acct_${randomUUID()}` };
      const requests: RequestRecord[] = [];
      for (let block = 0; block < 30; block += 1) {
        const mine = block % 3 === 0 ? [newRequest({ accountId }), newRequest({ accountId })] : [];
        requests.push(...mine);
        await record(store, newRequest(other), ...mine, newRequest(other));
      }
      for (const limit of [1, 3, 100]) {
        assert.deepEqual(await listAll({ accountId, limit }), requests.toReversed());
      }
      await assert.rejects(store.listRequests({ limit: 1, cursor: 'nonsense' }), RangeError);
    });

    it('finds requests by each fact, by time and by any id', async () => {
      const { store } = subject();
      const accountId = `acct_${randomUUID()}`;
      const sessionId = randomUUID();
      const traceId = randomBytes(16).toString('hex');
      const facts = {
        keyId: `key_${randomUUID()}`,
        model: 'claude-haiku-5',
        endpoint: 'responses',
        errorType: 'rate_limit_error',
        upstreamAccount: 'second',
      };
      const start = clock + 1;
      const wanted = newRequest({ accountId, ...facts, status: 429, sessionId, traceId });
      const others = [newRequest({ accountId }), newRequest({ accountId, status: 500 })];
      await record(store, wanted, ...others);
      for (const [name, value] of Object.entries(facts)) {
        assert.deepEqual(await listAll({ accountId, [name]: value, limit: 5 }), [wanted], name);
      }
      const of = { accountId, limit: 5 };
      assert.deepEqual(await listAll({ ...of, statusFrom: 400, statusUntil: 500 }), [wanted]);
      assert.deepEqual(await listAll({ ...of, failed: true }), [wanted]);
      assert.equal((await listAll({ ...of, failed: false })).length, 2);
      assert.deepEqual(await listAll({ ...of, sessionId }), [wanted]);
      const until = new Date(wanted.endedAt + 1);
      assert.deepEqual(await listAll({ ...of, from: new Date(start), until }), [wanted]);
      assert.deepEqual(await listAll({ ...of, until: new Date(start) }), []);
      for (const id of [wanted.id, wanted.upstreamRequestId, traceId, sessionId]) {
        assert.deepEqual(await listAll({ id, limit: 5 }), [wanted]);
        assert.deepEqual(await listAll({ id, accountId: 'acct_other', limit: 5 }), []);
      }
    });

    // F416: requests wait while the database is away, or are written late by one process: their
    // block lasts for hours, and a list of a time misses what the sums of this time count.
    it('lists what ended in a time, however long blocks last and in whichever order they come', async () => {
      const { store } = subject();
      const accountId = `acct_${randomUUID()}`;
      const start = Math.floor(Date.now() / 3_600_000) * 3_600_000 - 20 * 3_600_000;
      const minutes = [0, 7, 55, 61, 130, 131, 200, 299, 300, 301, 410, 599];
      const requests = minutes.map((minute) =>
        newRequest({ accountId, endedAt: start + minute * 60_000 }),
      );
      // Out of order, in blocks that overlap, beside those of other accounts.
      await record(store, ...requests.filter((_, index) => index % 3 === 0).reverse());
      await record(store, newRequest({ endedAt: start + 300 * 60_000 }));
      await record(store, ...requests.filter((_, index) => index % 3 !== 0));
      for (let hour = 0; hour < 10; hour += 1) {
        const times = [start + hour * 3_600_000, start + (hour + 1) * 3_600_000] as const;
        const expected = requests.filter(
          ({ endedAt }) => endedAt >= times[0] && endedAt < times[1],
        );
        const [from, until] = times.map((time) => new Date(time));
        const found = await listAll({ accountId, from, until, limit: 2 });
        assert.deepEqual(new Set(found.map(({ id }) => id)), new Set(expected.map(({ id }) => id)));
        const found1 = await listAll({ from, until, accountId, failed: false, limit: 50 });
        assert.equal(found1.length, expected.length);
      }
    });

    // F417: a write whose outcome is unknown is repeated: its requests are listed once.
    it('records a batch that is repeated under its id once', async () => {
      const { store } = subject();
      const accountId = `acct_${randomUUID()}`;
      const endedAt = Math.floor(Date.now() / 3_600_000) * 3_600_000 - 3_600_000;
      const id = randomUUID();
      const gap = newRequest({ accountId, endedAt, count: 70, since: endedAt - 150_000 });
      const kept = [newRequest({ accountId, endedAt }), gap];
      await store.recordRequests({ id, kept, counted: [] });
      const query = {
        accountId,
        by: [],
        from: new Date(endedAt),
        until: new Date(endedAt + 3_600_000),
        maxSums: 9,
      } as const;
      const once = await store.sumRequests(query);
      assert.equal(once[0]?.requests, 71);
      await store.recordRequests({ id, kept, counted: [] });
      assert.deepEqual(await listAll({ accountId, limit: 9 }), kept.toReversed());
    });

    it('says where its sums and its list begin', async () => {
      const { store } = subject();
      const endedAt = Date.now() - 45 * 86_400_000;
      const hour = Math.floor(endedAt / 3_600_000) * 3_600_000;
      const day = Math.floor(endedAt / 86_400_000) * 86_400_000;
      await record(store, newRequest({ endedAt }));
      assert.deepEqual(await store.requestsRecordedFrom('sums'), new Date(hour));
      assert.deepEqual(await store.requestsRecordedFrom('labels'), new Date(day));
      assert.deepEqual(await store.requestsRecordedFrom('requests'), new Date(endedAt));
      await store.pruneRequests({ ...NOTHING_OLD, before: new Date(hour + 3_600_000) });
      assert.notDeepEqual(await store.requestsRecordedFrom('sums'), new Date(hour));
      assert.notDeepEqual(await store.requestsRecordedFrom('requests'), new Date(endedAt));
    });

    it('finds a rare request among many without reading them all', async () => {
      const { store } = subject();
      const accountId = `acct_${randomUUID()}`;
      const client = `rare/${randomUUID().slice(0, 8)}`;
      const rare = newRequest({ accountId, client, sessionId: randomUUID() });
      await record(store, rare);
      for (let block = 0; block < 200; block += 1) await record(store, newRequest());
      const page = { requests: [rare] };
      assert.deepEqual(await store.listRequests({ accountId, limit: 5 }), page);
      assert.deepEqual(await store.listRequests({ sessionId: rare.sessionId, limit: 5 }), page);
      assert.deepEqual(await store.listRequests({ client, limit: 5 }), page);
      assert.deepEqual(await store.listRequests({ accountId, client, limit: 5 }), page);
      const none = { requests: [] };
      assert.deepEqual(await store.listRequests({ client: 'none/1', limit: 5 }), none);
      const frequent = { client: 'contract/1.0', limit: 5 };
      assert.deepEqual(await store.listRequests({ ...frequent, accountId }), none);
    });

    it('sums by fact and by time, also what is only counted', async () => {
      const { store } = subject();
      const accountId = `acct_${randomUUID()}`;
      const first = Math.floor(Date.now() / 3_600_000) * 3_600_000 - 7_200_000;
      const at = (endedAt: number, changes: Partial<RequestRecord> = {}) =>
        newRequest({ accountId, endedAt, ...changes });
      const refused = {
        status: 429,
        errorType: 'rate_limit_error',
        tokens: undefined,
        charge: undefined,
        firstByteMs: undefined,
      };
      await record(store, at(first), at(first + REQUEST_PERIOD_MS));
      await store.recordRequests({
        kept: [at(first + 3_600_000, { model: 'claude-haiku-5' })],
        counted: [at(first + 3_600_000, { ...refused, count: 500 })],
      });
      const query = {
        accountId,
        from: new Date(first),
        until: new Date(first + 7_200_000),
        maxSums: 10,
      };
      const of = (requests: number) => ({
        requests,
        failed: 0,
        durationMs: 5 * requests,
        firstByteMs: 3 * requests,
        firstBytes: requests,
        tokens: {
          input: 10 * requests,
          output: 20 * requests,
          cacheRead: 30 * requests,
          cacheWrite: 40 * requests,
        },
        charge: BigInt(requests) * 12_345n,
      });
      const flood = { ...of(1), requests: 501, failed: 500, durationMs: 5 * 501 };
      assert.deepEqual(await store.sumRequests({ ...query, by: [], everyMs: 3_600_000 }), [
        { start: new Date(first), ...of(2) },
        { start: new Date(first + 3_600_000), ...flood },
      ]);
      const fine = { ...query, until: new Date(first + REQUEST_PERIOD_MS), by: [] };
      assert.deepEqual(await store.sumRequests(fine), [of(1)]);
      const none = { ...of(0), requests: 500, failed: 500, durationMs: 2_500 };
      const byModel = await store.sumRequests({ ...query, by: ['model', 'error'] });
      assert.deepEqual(
        new Set(byModel),
        new Set([
          { model: 'claude-haiku-5', errorType: undefined, ...of(1) },
          { model: 'claude-opus-5', errorType: undefined, ...of(2) },
          { model: 'claude-opus-5', errorType: 'rate_limit_error', ...none },
        ]),
      );
      const times = await store.sumRequests({ ...query, by: ['model', 'error'], without: 'spend' });
      assert.deepEqual(
        times,
        byModel.map(({ tokens: _tokens, charge: _charge, ...rest }) => rest),
      );
      await assert.rejects(store.sumRequests({ ...query, by: ['model'], maxSums: 1 }), RangeError);
      await assert.rejects(
        store.sumRequests({ ...query, from: new Date(first + 1), by: [] }),
        RangeError,
      );
      assert.deepEqual(await store.sumRequests({ ...query, accountId: 'acct_other', by: [] }), []);
      assert.equal((await listAll({ accountId, limit: 10 })).length, 3);
    });

    // F253: a month is summed from days, with hours at both ends: a request is left out or counted
    // twice where they meet.
    it('sums days and hours to the same figures', async () => {
      const { store } = subject();
      const accountId = `acct_${randomUUID()}`;
      const day = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 5 * 86_400_000;
      const hours = [-1, 0, 23, 24, 47, 48, 72, 73];
      for (const hour of hours) {
        await record(store, newRequest({ accountId, endedAt: day + hour * 3_600_000 }));
      }
      const requests = async (from: number, until: number, everyMs?: number) => {
        const found = await store.sumRequests({
          accountId,
          by: [],
          from: new Date(day + from * 3_600_000),
          until: new Date(day + until * 3_600_000),
          everyMs,
          maxSums: 200,
        });
        return found.map(({ start, requests: count }) => [
          ...(start === undefined ? [] : [(start.getTime() - day) / 3_600_000]),
          count,
        ]);
      };
      for (const [from, until] of [
        [-1, 74],
        [0, 72],
        [1, 73],
        [0, 24],
        [23, 49],
        [24, 25],
      ] as const) {
        const expected = hours.filter((hour) => hour >= from && hour < until).length;
        assert.deepEqual(await requests(from, until), [[expected]]);
      }
      assert.deepEqual(await requests(0, 72, 86_400_000), [
        [0, 2],
        [24, 2],
        [48, 1],
      ]);
      assert.deepEqual(await requests(23, 48, 3_600_000), [
        [23, 1],
        [24, 1],
        [47, 1],
      ]);
    });

    it('sums programs and sessions by day, without those of requests that are only counted', async () => {
      const { store } = subject();
      const accountId = `acct_${randomUUID()}`;
      const day = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 3 * 86_400_000;
      const at = (hour: number, changes: Partial<RequestRecord>) =>
        newRequest({ accountId, endedAt: day + hour * 3_600_000, ...changes });
      const [one, other] = [randomUUID(), randomUUID()];
      await record(
        store,
        at(1, { client: 'a/1', sessionId: one }),
        at(2, { client: 'a/1', sessionId: one, model: 'claude-haiku-5' }),
        at(30, { client: 'a/1', sessionId: other }),
        at(3, { client: 'b/2', sessionId: undefined }),
      );
      await store.recordRequests({
        kept: [],
        counted: [at(4, { client: 'c/3', sessionId: other, count: 7 })],
      });
      const query = {
        accountId,
        from: new Date(day),
        until: new Date(day + 2 * 86_400_000),
        maxSums: 20,
      };
      const sessions = await store.sumRequests({ ...query, by: ['session'] });
      assert.deepEqual(
        new Map(sessions.map(({ sessionId, requests }) => [sessionId, requests])),
        new Map([
          [one, 2],
          [other, 1],
          [undefined, 8],
        ]),
      );
      const clients = await store.sumRequests({ ...query, by: ['client', 'model'], client: 'a/1' });
      assert.deepEqual(
        new Map(clients.map(({ model, requests, charge }) => [model, [requests, charge]])),
        new Map([
          ['claude-opus-5', [2, 24_690n]],
          ['claude-haiku-5', [1, 12_345n]],
        ]),
      );
      const [ofSession] = await store.sumRequests({ ...query, by: [], sessionId: other });
      assert.equal(ofSession?.requests, 1);
      assert.equal((await listAll({ accountId, client: 'a/1', limit: 2 })).length, 3);
      await assert.rejects(
        store.sumRequests({ ...query, by: ['client'], until: new Date(day + 3_600_000) }),
        RangeError,
      );
    });

    it('finds and sums what clients tagged, beside requests without a tag', async () => {
      const { store } = subject();
      const accountId = `acct_${randomUUID()}`;
      const day = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 3 * 86_400_000;
      const at = (hour: number, changes: Partial<RequestRecord>) =>
        newRequest({ accountId, endedAt: day + hour * 3_600_000, ...changes });
      const tagged = [at(1, { tag: 'blue team' }), at(2, { tag: 'blue team', client: undefined })];
      await record(store, ...tagged, at(3, { tag: 'Größe' }), at(4, {}));
      await store.recordRequests({ kept: [], counted: [at(5, { tag: 'flood', count: 7 })] });
      const query = { accountId, from: new Date(day), until: new Date(day + 86_400_000) };
      const sums = await store.sumRequests({ ...query, by: ['tag'], maxSums: 9 });
      assert.deepEqual(
        new Map(sums.map(({ tag, requests, charge }) => [tag, [requests, charge]])),
        new Map([
          ['blue team', [2, 24_690n]],
          ['Größe', [1, 12_345n]],
          // Those that are only counted, and so are not listed, keep no tag.
          [undefined, [8, 24_690n]],
        ]),
      );
      const [sum] = await store.sumRequests({ ...query, by: [], tag: 'Größe', maxSums: 9 });
      assert.equal(sum?.requests, 1);
      assert.deepEqual(await listAll({ accountId, tag: 'blue team', limit: 1 }), tagged.reverse());
      assert.deepEqual(await listAll({ accountId, tag: 'blue', limit: 5 }), []);
    });

    it('forgets an erased account, and nothing of others', async () => {
      const { store } = subject();
      const { accountId } = await newAccount(0n);
      const other = newRequest({ accountId: `acct_${randomUUID()}`, sessionId: randomUUID() });
      const erased = newRequest({ accountId, sessionId: `s_${randomUUID()}` });
      await record(store, erased, other);
      await record(store, newRequest({ accountId }));
      await closeAny(store, accountId);
      await store.eraseAccount(accountId, TESTS);
      assert.deepEqual(await listAll({ accountId, limit: 5 }), []);
      for (const id of [erased.id, erased.upstreamRequestId, erased.sessionId]) {
        assert.deepEqual(await listAll({ id, limit: 5 }), []);
      }
      for (const id of [other.id, other.upstreamRequestId, other.sessionId]) {
        assert.deepEqual(await listAll({ id, limit: 5 }), [other]);
      }
      const period = Math.floor(erased.endedAt / REQUEST_PERIOD_MS) * REQUEST_PERIOD_MS;
      const sums = { by: [], from: new Date(period), until: new Date(period + 7_200_000) } as const;
      assert.deepEqual(await store.sumRequests({ ...sums, accountId, maxSums: 5 }), []);
      const day = Math.floor(erased.endedAt / 86_400_000) * 86_400_000;
      const days = { from: new Date(day), until: new Date(day + 172_800_000) };
      assert.deepEqual(
        await store.sumRequests({ ...days, accountId, by: ['session'], maxSums: 5 }),
        [],
      );
    });

    // F398: an account is erased while its requests wait to be recorded, in this process or in
    // another one: no tag, session or program of them is recorded afterwards.
    it('records nothing of an erased account that ended before the erasure', async () => {
      const { store, pepper } = subject();
      const [accountId, byOther] = [
        (await newAccount(0n)).accountId,
        (await newAccount(0n)).accountId,
      ];
      const personal = (id: string) =>
        newRequest({ accountId: id, tag: `t_${id}`, sessionId: `s_${id}`, client: 'Zacharias/1' });
      // The sums of these wait in the store.
      await record(store, personal(accountId), personal(byOther));
      const beside = await subject().openBeside({ pepper });
      await closeAny(store, accountId);
      await closeAny(store, byOther);
      await beside.eraseAccount(byOther, TESTS);
      await store.eraseAccount(accountId, TESTS);
      await store.recordRequests({
        kept: [personal(byOther), personal(accountId), newRequest()],
        counted: [personal(byOther)],
      });
      await beside.close();
      // Another one waited longer.
      await record(store, personal(byOther), personal(accountId));
      const day = Math.floor(clock / 86_400_000) * 86_400_000;
      const days = { from: new Date(day - 86_400_000), until: new Date(day + 172_800_000) };
      for (const id of [accountId, byOther]) {
        assert.deepEqual(await listAll({ accountId: id, limit: 5 }), []);
        for (const by of ['tag', 'session', 'client'] as const) {
          const sums = await store.sumRequests({ ...days, accountId: id, by: [by], maxSums: 5 });
          assert.deepEqual(sums, []);
        }
        const later = newRequest({ accountId: id, endedAt: Date.now() + 60_000 });
        await record(store, later);
        assert.deepEqual(await listAll({ accountId: id, limit: 5 }), [later]);
        const total = await store.sumRequests({ ...days, accountId: id, by: [], maxSums: 5 });
        assert.equal(total[0]?.requests, 1);
      }
    });

    it('deletes requests that are too old or too many', async () => {
      const { store } = subject();
      const accountId = `acct_${randomUUID()}`;
      const endedAt = Date.now() - 40 * 86_400_000;
      const old = newRequest({ accountId, endedAt });
      const later = newRequest({ accountId, endedAt: endedAt + 86_400_000 });
      await record(store, old);
      await record(store, later);
      await store.pruneRequests(NOTHING_OLD);
      assert.deepEqual(await listAll({ accountId, limit: 5 }), [later, old]);
      await store.pruneRequests({ ...NOTHING_OLD, before: new Date(endedAt + 1) });
      assert.deepEqual(await listAll({ accountId, limit: 5 }), [later]);
      await store.pruneRequests({ before: new Date(endedAt + 1), maxKept: 0 });
      assert.deepEqual(await listAll({ limit: 5 }), []);
    });
  });
}
