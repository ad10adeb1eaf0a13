/**
 * Looks every minute at the hourly sums of usage for what a leaked key does:
 *
 * - `key.new_model`: the key uses a model that it never used. Once for each model.
 * - `key.pace`: within one hour of the clock it is charged at least 1 USD and more than ten times
 *   its mean per hour of the 14 days before, or since its first charge. Once a day, in UTC.
 *
 * Nothing is reported of the day after a key's first charge.
 */

import type { BalanceStore, UsageSum } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import type { Logger } from 'pino';
import { reasonOf } from '../../base/error-code.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../base/times.js';
import type { Config } from '../../config/config.js';
import { reportLeak } from './key-habits.js';
import type { HabitStore, Leak, WatchedKey } from './key-habits.js';

interface WatchParts {
  readonly store: HabitStore & Pick<BalanceStore, 'readUsage'>;
  /** `LEAK_EVENTS`; `off`: nothing is looked at. */
  readonly mode: Config['leakEvents'];
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface LeakWatch {
  /** Looks now. Resolves when the events are written. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

const LEAST_AMOUNT = 10n ** 14n;
const FACTOR = 10n;
const PACE_HOURS = 14 * 24;
/** The gateway may not have looked for so long; later looks read the last two hours. */
const FIRST_LOOK_HOURS = 24;
/** Beyond that, everything is forgotten and looked at again. */
const MAX_REMEMBERED = 100_000;

export function startLeakWatch({ store, mode, log, now }: WatchParts): LeakWatch {
  if (mode === 'off') return { look: () => Promise.resolve(), stop: () => Promise.resolve() };
  const report = (leak: Leak) => reportLeak(leak, mode, store);
  /** The models of keys that need no look any more. */
  const knownModels = new Set<string>();
  /** Above what a key's charges of an hour are reported. */
  const thresholds = new Map<string, bigint | undefined>();
  let isFirst = true;
  let running = Promise.resolve();

  async function look(): Promise<void> {
    const hour = Math.floor(now() / HOUR_MS) * HOUR_MS;
    const hours = isFirst ? FIRST_LOOK_HOURS : 2;
    const range = { from: new Date(hour - (hours - 1) * HOUR_MS), until: new Date(hour + HOUR_MS) };
    if (thresholds.size > MAX_REMEMBERED) thresholds.clear();
    if (knownModels.size > MAX_REMEMBERED) knownModels.clear();
    try {
      const by = ['hour', 'account', 'key', 'model'] as const;
      const sums = await store.readUsage({ by, ...range });
      for (const [id, { key, model }] of pairsOf(sums)) {
        if (knownModels.has(id)) continue;
        await lookAtModel(key, model, range);
        knownModels.add(id);
      }
      for (const { key, start, charged } of chargesOf(sums)) await lookAtPace(key, start, charged);
      isFirst = false;
    } catch (error) {
      // The next look tries again.
      log.warn({ reason: reasonOf(error) }, 'usage cannot be looked at for leaked keys');
    }
  }

  async function lookAtModel(
    key: WatchedKey,
    model: string,
    { from, until }: { readonly from: Date; readonly until: Date },
  ): Promise<void> {
    const of = { accountId: key.accountId, keyId: key.id };
    const [used] = await store.readUsage({ by: ['hour'], ...of, model, from, until });
    const first = used?.start;
    if (first === undefined || (await isUsed({ ...of, model, until: first }))) return;
    if (!(await isUsed({ ...of, until: new Date(first.getTime() - DAY_MS) }))) return;
    await report({ type: 'key.new_model', key, what: model, data: { model } });
  }

  async function lookAtPace(key: WatchedKey, start: Date, charged: bigint): Promise<void> {
    if (charged < LEAST_AMOUNT) return;
    const id = `${key.id} ${String(start.getTime())}`;
    if (!thresholds.has(id)) thresholds.set(id, await thresholdOf(key, start));
    const threshold = thresholds.get(id);
    if (threshold === undefined || charged <= threshold) return;
    await report({
      type: 'key.pace',
      key,
      what: start.toISOString().slice(0, 10),
      data: {
        hour: start.toISOString(),
        charged_usd: formatUsd(charged),
        usual_usd: formatUsd(threshold / FACTOR),
      },
    });
    thresholds.set(id, undefined);
  }

  /** @returns `undefined` for a key whose first charge is not yet a day old */
  async function thresholdOf(key: WatchedKey, start: Date): Promise<bigint | undefined> {
    const of = { accountId: key.accountId, keyId: key.id };
    const from = new Date(start.getTime() - PACE_HOURS * HOUR_MS);
    if (!(await isUsed({ ...of, until: new Date(start.getTime() - DAY_MS) }))) return undefined;
    const before = await store.readUsage({ by: ['hour'], ...of, from, until: start });
    const first = (await isUsed({ ...of, until: from })) ? from : (before[0]?.start ?? from);
    const hours = Math.round((start.getTime() - first.getTime()) / HOUR_MS);
    const sum = before.reduce((total, each) => total + chargedIn(each), 0n);
    return (sum * FACTOR) / BigInt(hours);
  }

  async function isUsed(
    of: Pick<Parameters<BalanceStore['readUsage']>[0], 'accountId' | 'keyId' | 'model' | 'until'>,
  ): Promise<boolean> {
    const [sum] = await store.readUsage({ by: [], from: new Date(0), ...of });
    return (sum?.requests ?? 0) > 0;
  }

  const lookNext = (): Promise<void> => (running = running.then(look));
  const timer = setInterval(() => void lookNext(), MINUTE_MS).unref();
  return {
    look: lookNext,
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}

function keyOf({ keyId = '', accountId = '' }: UsageSum): WatchedKey {
  return { id: keyId, accountId };
}

function pairsOf(sums: readonly UsageSum[]) {
  const pairs = new Map<string, { readonly key: WatchedKey; readonly model: string }>();
  for (const sum of sums) {
    const model = sum.model ?? '';
    pairs.set(`${sum.keyId ?? ''} ${model}`, { key: keyOf(sum), model });
  }
  return pairs;
}

/** What each key was charged in each hour. */
function chargesOf(sums: readonly UsageSum[]) {
  const charges = new Map<
    string,
    { readonly key: WatchedKey; readonly start: Date; readonly charged: bigint }
  >();
  for (const sum of sums) {
    const { start = new Date(0), keyId = '' } = sum;
    const id = `${keyId} ${String(start.getTime())}`;
    const charged = (charges.get(id)?.charged ?? 0n) + chargedIn(sum);
    charges.set(id, { key: keyOf(sum), start, charged });
  }
  return charges.values();
}

function chargedIn({ listPrice, writtenOff }: UsageSum): bigint {
  return listPrice - writtenOff;
}
