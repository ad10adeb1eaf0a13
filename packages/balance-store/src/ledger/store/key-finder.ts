/** Finds the key of a credential: the step before every admission. */

import { isWellFormedCredential } from '../../credential.js';
import type { PresentedKey } from '../../key.js';
import { StoreUnavailableError } from '../../store.js';
import type { FindOptions } from '../../store.js';
import type { KeyTable } from '../database/ledger-database.js';
import { hashesOf } from '../rules/pepper.js';
import type { Peppers } from '../rules/pepper.js';

const MAX_CACHED_KEYS = 10_000;
/**
 * `find` reads a record again after this time, so it returns changes by other replicas this late.
 * Only if the database knows that nothing but charges was committed, the record is used for longer.
 * Whether a key may spend is not taken from the record, but from `readStanding`, which is
 * never older than the question.
 */
const MAX_AGE_MS = 1_000;
const MAX_RECALL_AGE_MS = 60_000;

export interface KeyFinder {
  /** The cached record, up to a minute old. */
  readonly recall: (credential: string) => PresentedKey | undefined;
  readonly find: (credential: string, options?: FindOptions) => Promise<PresentedKey | undefined>;
  /** Drops the cached key, or those of an account. Must be called after each write to them. */
  readonly forget: (id: string) => void;
  readonly forgetAll: () => void;
}

export interface KeyFinderOptions {
  readonly keys: Pick<KeyTable, 'find' | 'version'>;
  readonly peppers: Peppers;
  /** Stores the hash of this credential under the new pepper, in place of the old hash. */
  readonly renew: (credential: string) => Promise<void>;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

interface CachedKey {
  readonly record: PresentedKey;
  /** When the record was read, or was last known to be as if read then. */
  readAt: number;
  /** See `KeyTable`. */
  readonly version: number | undefined;
}

/**
 * Caches found keys. `find` uses a cached record for at least one second, so that a busy key costs
 * at most one look-up per second; `recall` uses it for up to a minute. Unknown and revoked
 * credentials are not cached, so they cannot fill the memory.
 */
export function createKeyFinder({ keys, peppers, renew, now }: KeyFinderOptions): KeyFinder {
  // Ordered by last look-up: the first is dropped when the cache is full.
  const cache = new Map<string, CachedKey>();
  const running = new Map<string, Promise<PresentedKey | undefined>>();
  // The number of writes. A row that was read before a write must not be cached after it.
  let epoch = 0;
  let isRenewing = false;

  async function lookUp(credential: string): Promise<PresentedKey | undefined> {
    const [readAt, readEpoch, version] = [now(), epoch, keys.version?.()];
    const found = await keys.find(hashesOf(credential, peppers));
    const record =
      found === undefined ? undefined : { ...found.record, presented: found.presented };
    // A revoked key is refused like an unknown one, and in the same time.
    if (found?.hasOldHash === true && found.record.state !== 'revoked') {
      await renewIfPossible(credential);
    }
    if (readEpoch !== epoch) return record;
    cache.delete(credential);
    // If revoked keys were cached, they would be refused faster than unknown ones, and the time
    // would reveal which credentials were once valid.
    if (record === undefined || record.state === 'revoked') return record;
    cache.set(credential, { record, readAt, version });
    for (const oldest of cache.keys()) {
      if (cache.size <= MAX_CACHED_KEYS) break;
      cache.delete(oldest);
    }
    return record;
  }

  /**
   * The key was found, so it may be used even if its hash cannot be renewed yet. One hash at a time
   * is renewed, because each renewal waits for the trail, and must not hold all connections that
   * requests need. The others are renewed by a later look-up.
   */
  async function renewIfPossible(credential: string): Promise<void> {
    if (isRenewing) return;
    isRenewing = true;
    try {
      await renew(credential);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    } finally {
      isRenewing = false;
    }
  }

  function isUsable(cached: CachedKey): boolean {
    const { record, version } = cached;
    // A replaced credential ends by time, without a commit.
    if (hasEnded(record)) return false;
    const at = now();
    if (at - cached.readAt < MAX_AGE_MS) return true;
    if (version === undefined || record.presented === 'replaced') return false;
    if (keys.version?.() !== version) return false;
    cached.readAt = at;
    return true;
  }

  return {
    recall(credential) {
      const cached = cache.get(credential);
      if (cached === undefined || now() - cached.readAt >= MAX_RECALL_AGE_MS) return undefined;
      return hasEnded(cached.record) ? undefined : cached.record;
    },
    async find(credential, { isFresh = false } = {}) {
      const cached = isFresh ? undefined : cache.get(credential);
      if (cached !== undefined && isUsable(cached)) return cached.record;
      if (!isWellFormedCredential(credential)) return undefined;
      // A look-up that is running may have read the row already.
      if (isFresh) return lookUp(credential);
      let lookup = running.get(credential);
      if (lookup === undefined) {
        const started = lookUp(credential).finally(() => {
          // After `forget`, the entry may be that of a later look-up.
          if (running.get(credential) === started) running.delete(credential);
        });
        lookup = started;
        running.set(credential, started);
      }
      return lookup;
    },
    forget(id) {
      epoch += 1;
      running.clear();
      for (const [credential, { record }] of cache) {
        if (record.id === id || record.accountId === id) cache.delete(credential);
      }
    },
    forgetAll() {
      epoch += 1;
      running.clear();
      cache.clear();
    },
  };
}

/** Whether the credential was replaced and its time of grace is over. */
function hasEnded({ presented, previousUntil }: PresentedKey): boolean {
  if (presented === 'current') return false;
  return previousUntil === null || previousUntil.getTime() <= Date.now();
}
