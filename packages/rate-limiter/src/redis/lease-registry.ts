/**
 * The leases that this process holds, by subject. A lease of a subject and its group is listed for
 * both, under one id. The heartbeat reads from here which leases to prolong.
 */

export interface LeaseRegistry {
  /** @param subjects - The subject and its group, if any. */
  add(subjects: readonly string[], id: string): void;
  /** @returns whether the lease was held */
  remove(subjects: readonly string[], id: string): boolean;
  /** Forgets all leases. */
  clear(): void;
  has(subject: string, id: string): boolean;
  /** How many leases of `subject` this process holds. */
  count(subject: string): number;
  /** The ids of the leases of `subject`. */
  ids(subject: string): readonly string[];
  subjects(): readonly string[];
}

export function createLeaseRegistry(): LeaseRegistry {
  const idsBySubject = new Map<string, Set<string>>();
  return {
    add(subjects, id) {
      for (const subject of subjects) {
        const ids = idsBySubject.get(subject);
        if (ids === undefined) idsBySubject.set(subject, new Set([id]));
        else ids.add(id);
      }
    },
    remove(subjects, id) {
      let wasHeld = false;
      for (const subject of subjects) {
        const ids = idsBySubject.get(subject);
        if (ids?.delete(id) === true) wasHeld = true;
        if (ids?.size === 0) idsBySubject.delete(subject);
      }
      return wasHeld;
    },
    clear() {
      idsBySubject.clear();
    },
    has: (subject, id) => idsBySubject.get(subject)?.has(id) ?? false,
    count: (subject) => idsBySubject.get(subject)?.size ?? 0,
    ids: (subject) => [...(idsBySubject.get(subject) ?? [])],
    subjects: () => [...idsBySubject.keys()],
  };
}
