/** A map of values that expire. Beyond its size limit it forgets the least recently used entry. */

export interface ExpiringMap<V> {
  /** Undefined if the key is absent or expired. Reading a value counts as use. */
  get(key: string, nowUs: number): V | undefined;
  put(key: string, value: V, nowUs: number): void;
  delete(key: string): void;
  clear(): void;
  /** Number of entries, including expired ones that were not removed yet. */
  size(): number;
}

export interface ExpiringMapOptions<V> {
  readonly maxEntries: number;
  /** When a value expires. This time may change while the value is in the map. */
  readonly expiresAtUs: (value: V) => number;
}

/** A node of the linked list, which is in the order of use. */
interface Entry<V> {
  readonly key: string;
  value: V;
  older: Entry<V> | undefined;
  newer: Entry<V> | undefined;
}

/**
 * Each operation takes constant time. There is no timer: each `put` looks at the least recently
 * used entries.
 *
 * The order of use is a linked list. The insertion order of a Map could serve instead, but its
 * first entry is slow to find: V8 leaves a hole for each deleted entry, and an iterator has to skip
 * them. With 20,000 entries that took 6 µs per admission.
 */
export function createExpiringMap<V>({
  maxEntries,
  expiresAtUs,
}: ExpiringMapOptions<V>): ExpiringMap<V> {
  const entries = new Map<string, Entry<V>>();
  let oldest: Entry<V> | undefined;
  let newest: Entry<V> | undefined;

  function link(entry: Entry<V>): void {
    entry.older = newest;
    if (newest === undefined) oldest = entry;
    else newest.newer = entry;
    newest = entry;
  }

  /** Clears both references; otherwise a forgotten entry could keep others in memory. */
  function unlink(entry: Entry<V>): void {
    if (entry.older === undefined) oldest = entry.newer;
    else entry.older.newer = entry.newer;
    if (entry.newer === undefined) newest = entry.older;
    else entry.newer.older = entry.older;
    entry.older = undefined;
    entry.newer = undefined;
  }

  function drop(entry: Entry<V>): void {
    unlink(entry);
    entries.delete(entry.key);
  }

  function use(entry: Entry<V>): void {
    if (entry === newest) return;
    unlink(entry);
    link(entry);
  }

  function dropOldest(nowUs: number): void {
    // Each put adds at most one entry, so dropping one keeps the map within its limit. Dropping up
    // to two removes expired entries faster than new ones arrive.
    for (let looked = 0; looked < 2 && oldest !== undefined; looked += 1) {
      if (expiresAtUs(oldest.value) > nowUs && entries.size <= maxEntries) return;
      drop(oldest);
    }
  }

  return {
    get(key, nowUs) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      if (expiresAtUs(entry.value) <= nowUs) {
        drop(entry);
        return undefined;
      }
      use(entry);
      return entry.value;
    },
    put(key, value, nowUs) {
      const known = entries.get(key);
      if (expiresAtUs(value) <= nowUs) {
        if (known !== undefined) drop(known);
      } else if (known === undefined) {
        const entry: Entry<V> = { key, value, older: undefined, newer: undefined };
        entries.set(key, entry);
        link(entry);
      } else {
        known.value = value;
        use(known);
      }
      dropOldest(nowUs);
    },
    delete(key) {
      const entry = entries.get(key);
      if (entry !== undefined) drop(entry);
    },
    clear() {
      entries.clear();
      oldest = undefined;
      newest = undefined;
    },
    size() {
      return entries.size;
    },
  };
}
