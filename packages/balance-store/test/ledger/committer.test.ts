import { describe, expect, it, jest } from '@jest/globals';
import { Committer } from '../../src/ledger/charging/committer.js';
import type { CommitterOptions, SettleDriver } from '../../src/ledger/charging/committer.js';
import { StoreUnavailableError } from '../../src/index.js';
import type { Settlement, SettleOutcome } from '../../src/index.js';
import { settlement } from '../../src/testing/index.js';

const DEADLINE = { deadlineMs: 10_000 };
const settled: SettleOutcome = { outcome: 'settled', balance: 1n, isActive: true, writtenOff: 0n };

class Refusal extends Error {}
class Race extends Error {}

/** A driver that calls `answer` with each batch, and settles the batch unless `answer` throws. */
function scriptedDriver(
  answer: (batch: readonly Settlement[], call: number) => Promise<void> | void,
) {
  const batches: (readonly Settlement[])[] = [];
  const quarantined: string[] = [];
  const driver: SettleDriver = {
    async settleBatch(batch) {
      batches.push(batch);
      await answer(batch, batches.length);
      return batch.map(() => settled);
    },
    quarantine({ requestId }) {
      quarantined.push(requestId);
      return Promise.resolve();
    },
    classify(error) {
      if (error instanceof Refusal) return 'refused';
      return error instanceof Race ? 'raced' : 'retry';
    },
  };
  return { driver, batches, quarantined };
}

function settleAll(committer: Committer, charges: readonly Settlement[]) {
  return Promise.all(charges.map((charge) => committer.settle(charge, DEADLINE)));
}

const charges = (count: number) => Array.from({ length: count }, () => settlement('key'));
const create = (options: Partial<CommitterOptions> & Pick<CommitterOptions, 'driver'>) =>
  new Committer({ maxInFlight: 2, random: () => 0, ...options });

describe('committer', () => {
  it('folds settlements made at once into batches of at most the maximum, in order', async () => {
    const { driver, batches } = scriptedDriver(() => undefined);
    const all = charges(1_200);
    await settleAll(create({ driver }), all);
    expect(batches.map((batch) => batch.length)).toEqual([500, 500, 200]);
    expect(batches.flat()).toEqual(all);
  });

  it('reports for how long commits have failed, until one succeeds or nothing is pending', async () => {
    let now = 0;
    let isDown = true;
    const { driver } = scriptedDriver(() => {
      if (isDown) throw new Error('down');
    });
    const committer = create({ driver, now: () => now });
    expect(committer.failingForMs).toBe(0);
    const outcome = committer.settle(settlement('key'), DEADLINE);
    await new Promise(setImmediate);
    now = 3_000;
    expect(committer.failingForMs).toBe(3_000);
    isDown = false;
    await outcome;
    expect(committer.failingForMs).toBe(0);

    isDown = true;
    const lost = committer.settle(settlement('key'), { deadlineMs: 20 });
    await expect(lost).rejects.toThrow(StoreUnavailableError);
    now = 9_000;
    expect(committer.failingForMs).toBe(0);
    const next = committer.settle(settlement('key'), DEADLINE);
    expect(committer.failingForMs).toBe(0);
    isDown = false;
    await next;
  });

  it('collects settlements into one batch while a fast database commits the batch before it', async () => {
    const release: (() => void)[] = [];
    const { driver, batches } = scriptedDriver(
      () => new Promise((resolve) => release.push(resolve)),
    );
    const committer = create({ driver, now: () => 0 });
    const outcomes: Promise<unknown>[] = [];
    for (const charge of charges(10)) {
      outcomes.push(committer.settle(charge, DEADLINE));
      await new Promise(setImmediate);
    }
    expect(batches.map((batch) => batch.length)).toEqual([1]);
    release[0]?.();
    await new Promise(setImmediate);
    expect(batches.map((batch) => batch.length)).toEqual([1, 9]);
    release[1]?.();
    await Promise.all(outcomes);
  });

  // F9
  it('has no more batches in flight than allowed, also on a slow database', async () => {
    let now = 0;
    const release: (() => void)[] = [];
    const { driver, batches } = scriptedDriver(
      () => new Promise((resolve) => release.push(resolve)),
    );
    const committer = create({ driver, now: () => (now += 20) });
    const outcomes: Promise<unknown>[] = [];
    for (const charge of charges(10)) {
      outcomes.push(committer.settle(charge, DEADLINE));
      await new Promise(setImmediate);
    }
    expect(batches.map((batch) => batch.length)).toEqual([1, 1]);
    expect(committer.pending).toBe(10);
    release[0]?.();
    await new Promise(setImmediate);
    expect(batches.map((batch) => batch.length)).toEqual([1, 1, 8]);
    release.forEach((resolve) => {
      resolve();
    });
    await Promise.all(outcomes);
    expect(committer.pending).toBe(0);
  });

  it('sends the same settlements again after a fault', async () => {
    const { driver, batches } = scriptedDriver((_, call) => {
      if (call <= 3) throw new Error('connection lost');
    });
    const all = charges(3);
    await settleAll(create({ driver }), all);
    expect(batches).toEqual([all, all, all, all]);
  });

  // F300
  it('sends settlements that pause between retries at once when it is asked to', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { driver, batches } = scriptedDriver((_, call) => {
        if (call <= 2) throw new Error('connection lost');
      });
      const committer = create({ driver });
      const outcome = committer.settle(settlement('key'), DEADLINE);
      for (const attempts of [1, 2]) {
        await new Promise(setImmediate);
        expect([batches.length, committer.pending]).toEqual([attempts, 1]);
        committer.retryNow();
      }
      expect(await outcome).toEqual(settled);
    } finally {
      jest.useRealTimers();
    }
  });

  // F15
  it('isolates a malformed settlement of a full batch in few calls and settles the others', async () => {
    const all = charges(500);
    const bad = all[321];
    const { driver, batches, quarantined } = scriptedDriver((batch) => {
      if (bad !== undefined && batch.includes(bad)) throw new Refusal('value out of range');
    });
    const outcomes = await settleAll(create({ driver }), all);
    expect(outcomes.filter(({ outcome }) => outcome === 'settled').length).toBe(499);
    expect(outcomes[321]).toEqual({ outcome: 'quarantined', reason: 'value out of range' });
    expect(quarantined).toEqual([bad?.requestId]);
    expect(batches.length).toBeLessThanOrEqual(20);
  });

  // F315: the charges of one request, whose hold covers all of them, come where a batch is full:
  // they are in one transaction, so none is written off for a hold that is placed between them.
  it('never divides the settlements of one request between two batches', async () => {
    const { driver, batches } = scriptedDriver(() => undefined);
    const committer = create({ driver, maxBatchRows: 4 });
    const single = charges(3);
    const [together, large] = [charges(3), charges(6)];
    const outcomes = await Promise.all([
      settleAll(committer, single),
      committer.settleTogether(together, DEADLINE),
      committer.settleTogether(large, DEADLINE),
      committer.settleTogether([], DEADLINE),
    ]);
    expect(batches).toEqual([single, together, large]);
    expect(outcomes.map((of) => of.length)).toEqual([3, 3, 6, 0]);
  });

  it('sets aside only the malformed one of the settlements of one request', async () => {
    const together = charges(3);
    const { driver, batches, quarantined } = scriptedDriver((batch) => {
      if (batch.includes(together[1]!)) throw new Refusal('value out of range');
    });
    const committer = create({ driver });
    const outcomes = await committer.settleTogether(together, DEADLINE);
    const setAside = { outcome: 'quarantined', reason: 'value out of range' };
    expect(outcomes).toEqual([settled, setAside, settled]);
    expect(quarantined).toEqual([together[1]!.requestId]);
    expect(batches.map((batch) => batch.length)).toEqual([3, 1, 1, 1]);
    expect(committer.pending).toBe(0);
  });

  it('rejects the settlements of one request at their deadline while they are tried alone', async () => {
    let isUp = false;
    const together = charges(2);
    const { driver, batches } = scriptedDriver((batch) => {
      if (batch.length > 1) throw new Refusal('value out of range');
      if (!isUp) throw new Error('down');
    });
    const committer = create({ driver });
    const lost = committer.settleTogether(together, { deadlineMs: 20 });
    await expect(lost).rejects.toThrow(StoreUnavailableError);
    isUp = true;
    const before = batches.length;
    await committer.settle(settlement('key'), DEADLINE);
    await committer.close();
    expect(batches.slice(before).flat()).not.toEqual(expect.arrayContaining([together[1]]));
    expect(committer.pending).toBe(0);
  });

  it('treats a race that is lost repeatedly as a malformed settlement', async () => {
    const { driver, quarantined } = scriptedDriver(() => {
      throw new Race('duplicate key');
    });
    const [outcome] = await settleAll(create({ driver }), charges(1));
    expect(outcome?.outcome).toBe('quarantined');
    expect(quarantined.length).toBe(1);
  });

  it('rejects a queued or sent settlement at its deadline, and does not send it afterwards', async () => {
    let isUp = false;
    const { driver, batches } = scriptedDriver(() => {
      if (!isUp) throw new Error('down');
    });
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const committer = create({ driver, maxInFlight: 1, now: () => Date.now() });
      const [retried, queued, patient] = charges(3);
      if (!retried || !queued || !patient) throw new Error('no charges');
      const first = committer.settle(retried, { deadlineMs: 60 });
      const isFirstLost = expect(first).rejects.toThrow(StoreUnavailableError);
      await new Promise(setImmediate);
      const second = committer.settle(queued, { deadlineMs: 30 });
      const isSecondLost = expect(second).rejects.toThrow(StoreUnavailableError);
      const third = committer.settle(patient, DEADLINE);
      await jest.advanceTimersByTimeAsync(30);
      await isSecondLost;
      expect(committer.pending).toBe(2);
      await jest.advanceTimersByTimeAsync(30);
      await isFirstLost;
      expect(committer.pending).toBe(1);
      isUp = true;
      await jest.advanceTimersByTimeAsync(1_000);
      expect(await third).toEqual(settled);
      expect(batches.at(-1)).toEqual([patient]);
      expect(batches.flat()).not.toContain(queued);
    } finally {
      jest.useRealTimers();
    }
  });

  it('has no timer once nothing is pending', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { driver } = scriptedDriver(() => new Promise(() => undefined));
      const committer = create({ driver, now: () => Date.now() });
      const lost = committer.settle(settlement('key'), { deadlineMs: 20 });
      const isLost = expect(lost).rejects.toThrow(StoreUnavailableError);
      await jest.advanceTimersByTimeAsync(20);
      await isLost;
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  // F313: a deadline that is longer than a timer can be, or infinite: it is waited for; one that is
  // not above 0 is refused, and nothing is charged.
  it.each([[2 ** 31 + 1_000], [Infinity]])('waits for a deadline of %d ms', async (deadlineMs) => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { driver } = scriptedDriver(() => new Promise(() => undefined));
      const committer = create({ driver, now: () => Date.now() });
      let end: unknown;
      committer.settle(settlement('key'), { deadlineMs }).catch((error: unknown) => {
        end = error;
      });
      await jest.advanceTimersByTimeAsync(2 ** 31 + 999);
      expect([end, committer.pending]).toEqual([undefined, 1]);
      await jest.advanceTimersByTimeAsync(1);
      if (deadlineMs === Infinity) expect(end).toBeUndefined();
      else expect(end).toBeInstanceOf(StoreUnavailableError);
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  // F313
  it.each([[NaN], [0], [-1]])('refuses a deadline of %d ms', async (deadlineMs) => {
    const { driver, batches } = scriptedDriver(() => undefined);
    const committer = create({ driver });
    await expect(committer.settle(settlement('key'), { deadlineMs })).rejects.toThrow(
      new RangeError(`deadlineMs is ${String(deadlineMs)}, not a number above 0`),
    );
    await committer.close();
    expect(batches).toEqual([]);
  });

  // F311
  it('never sends a settlement that would make the ledger unsound', async () => {
    const { driver, batches, quarantined } = scriptedDriver(() => undefined);
    const [first, wrong, last] = [
      settlement('key'),
      settlement('key', { amount: 7n }),
      settlement('key'),
    ];
    const outcomes = await settleAll(create({ driver }), [first, wrong, last]);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['settled', 'quarantined', 'settled']);
    expect(batches).toEqual([[first, last]]);
    expect(quarantined).toEqual([wrong.requestId]);
  });

  // F9
  it('refuses settlements at once while too many wait', async () => {
    let release: () => void = () => undefined;
    const { driver } = scriptedDriver(() => new Promise((resolve) => (release = resolve)));
    const committer = create({ driver, maxInFlight: 1, maxWaiting: 2 });
    const first = committer.settle(settlement('key'), DEADLINE);
    await new Promise(setImmediate);
    const others = charges(2).map((charge) => committer.settle(charge, DEADLINE));
    await expect(committer.settle(settlement('key'), DEADLINE)).rejects.toThrow(
      StoreUnavailableError,
    );
    release();
    await first;
    await new Promise(setImmediate);
    release();
    await Promise.all(others);
  });

  it('retries when a settlement cannot be written to the quarantine', async () => {
    const { driver } = scriptedDriver(() => {
      throw new Refusal('bad');
    });
    let attempts = 0;
    const flaky: SettleDriver = {
      ...driver,
      quarantine() {
        attempts += 1;
        return attempts < 3 ? Promise.reject(new Error('down')) : Promise.resolve();
      },
    };
    const [outcome] = await settleAll(create({ driver: flaky }), charges(1));
    expect(outcome).toEqual({ outcome: 'quarantined', reason: 'bad' });
    expect(attempts).toBe(3);
  });

  it('close waits for pending settlements and refuses later ones', async () => {
    const { driver } = scriptedDriver((_, call) => {
      if (call === 1) throw new Error('down');
    });
    const committer = create({ driver });
    const outcomes = settleAll(committer, charges(5));
    await new Promise(setImmediate);
    await committer.close();
    expect(committer.pending).toBe(0);
    expect((await outcomes).length).toBe(5);
    await expect(committer.settle(settlement('key'), DEADLINE)).rejects.toThrow(
      StoreUnavailableError,
    );
  });
});
