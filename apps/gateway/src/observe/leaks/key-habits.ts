/**
 * What a key used before, in a document of the key, and what was reported about it. Several
 * gateways share it, and it outlives the events, so that each thing is reported once.
 */

import { KEY_HABITS } from '@gateway/balance-store';
import type { BalanceStore, KeyRecord, NewEvent } from '@gateway/balance-store';
import type { Config } from '../../config/config.js';

export type HabitStore = Pick<
  BalanceStore,
  'getDocument' | 'writeDocument' | 'recordEvent' | 'suspendKey'
>;

/** Whether a key that may have leaked is suspended. */
type LeakMode = Exclude<Config['leakEvents'], 'off'>;

/** The keys that both watches look at. */
export type WatchedKey = Pick<KeyRecord, 'id' | 'accountId'>;

export interface Habits {
  /** When the first network was recorded. */
  readonly since?: string;
  /** Stands for the secret that {@link Habits.networks} are hashed with. */
  readonly secret?: string;
  /** Hashes of the networks that the key was used from. */
  readonly networks?: readonly string[];
  /** What was reported: {@link Leak.what}, the last ones. */
  readonly reported?: readonly string[];
}

export interface Leak {
  readonly type: 'key.new_model' | 'key.new_network' | 'key.pace';
  readonly key: WatchedKey;
  /** Reported once of the key: a model, the hash of a network, a day. */
  readonly what: string;
  readonly data: NewEvent['data'];
}

/** What was reported before cannot be reported again: it is known, or a day in the past. */
const MAX_REPORTED = 200;
/** Other gateways may change the document meanwhile. */
const ATTEMPTS = 10;

export async function readHabits(
  { id }: WatchedKey,
  store: Pick<HabitStore, 'getDocument'>,
): Promise<Habits> {
  return (await store.getDocument(KEY_HABITS, id))?.data ?? {};
}

/** @param change - Of what is stored at that moment; `undefined` leaves it as it is. */
export async function changeHabits(
  { id, accountId }: WatchedKey,
  store: Pick<HabitStore, 'getDocument' | 'writeDocument'>,
  change: (habits: Habits) => Habits | undefined,
): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const found = await store.getDocument(KEY_HABITS, id);
    const changed = change(found?.data ?? {});
    if (changed === undefined) return;
    const { outcome } = await store.writeDocument({
      kind: KEY_HABITS,
      id,
      accountId,
      version: found?.version ?? 0,
      data: { ...changed },
    });
    if (outcome === 'written') return;
  }
  throw new Error(`the habits of ${id} change too often`);
}

/**
 * Writes the event, and suspends the key if it is to be. The caller records that this was done
 * afterwards, so that after a crash it is done again: the event still only once.
 *
 * @param mode - `LEAK_EVENTS`
 */
export async function announceLeak(
  { type, key, what, data }: Leak,
  mode: LeakMode,
  store: HabitStore,
): Promise<void> {
  await store.recordEvent({
    id: `evt_${type}:${key.id}:${what}`,
    type,
    accountId: key.accountId,
    keyId: key.id,
    data: { ...data, action: mode },
  });
  if (mode === 'suspend') await store.suspendKey(key.id, GATEWAY, type);
}

/** The author of suspensions. Only operators can lift them. */
const GATEWAY = { name: 'gateway' } as const;

/** {@link announceLeak}, unless it was done before. */
export async function reportLeak(leak: Leak, mode: LeakMode, store: HabitStore): Promise<void> {
  const mark = `${leak.type}:${leak.what}`;
  if ((await readHabits(leak.key, store)).reported?.includes(mark) === true) return;
  await announceLeak(leak, mode, store);
  await changeHabits(leak.key, store, (habits) =>
    habits.reported?.includes(mark) === true
      ? undefined
      : { ...habits, reported: [...(habits.reported ?? []), mark].slice(-MAX_REPORTED) },
  );
}
