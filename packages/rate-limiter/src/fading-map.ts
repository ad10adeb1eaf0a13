/** A map of values that become worthless at a known time, bounded by forgetting the least recently used. */

export interface FadingMap<V> {
  /** Undefined when absent or worthless. Counts as use. */
  get(key: string, nowUs: number): V | undefined;
  put(key: string, value: V, worthlessAtUs: number, nowUs: number): void;
  delete(key: string): void;
  clear(): void;
  /** Entries held, worthless ones that were not noticed yet included. */
  size(): number;
}

/** Each operation takes constant time. There is no timer: the oldest entries are looked at on each `put`. */
export function createFadingMap<V>(maxEntries: number): FadingMap<V> {
  // A Map iterates in insertion order, and `get` re-inserts: the first entry is the least recently used.
  const entries = new Map<string, { readonly value: V; readonly worthlessAtUs: number }>();

  function dropOldest(nowUs: number): void {
    // Two at a time outpace the one that was put.
    for (let looked = 0; looked < 2; looked += 1) {
      const oldest = entries.entries().next();
      if (oldest.done) return;
      const [key, { worthlessAtUs }] = oldest.value;
      if (worthlessAtUs > nowUs && entries.size <= maxEntries) return;
      entries.delete(key);
    }
  }

  return {
    get(key, nowUs) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      if (entry.worthlessAtUs <= nowUs) return undefined;
      entries.set(key, entry);
      return entry.value;
    },
    put(key, value, worthlessAtUs, nowUs) {
      entries.delete(key);
      if (worthlessAtUs > nowUs) entries.set(key, { value, worthlessAtUs });
      dropOldest(nowUs);
    },
    delete(key) {
      entries.delete(key);
    },
    clear() {
      entries.clear();
    },
    size() {
      return entries.size;
    },
  };
}
