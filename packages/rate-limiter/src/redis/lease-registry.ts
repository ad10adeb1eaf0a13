/**
 * The leases that this process holds, by subject. The heartbeat reads from here which leases to
 * prolong.
 */

export interface LeaseRegistry {
  add(subject: string, id: string): void;
  remove(subject: string, id: string): void;
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
    add(subject, id) {
      const ids = idsBySubject.get(subject);
      if (ids === undefined) idsBySubject.set(subject, new Set([id]));
      else ids.add(id);
    },
    remove(subject, id) {
      const ids = idsBySubject.get(subject);
      ids?.delete(id);
      if (ids?.size === 0) idsBySubject.delete(subject);
    },
    has: (subject, id) => idsBySubject.get(subject)?.has(id) ?? false,
    count: (subject) => idsBySubject.get(subject)?.size ?? 0,
    ids: (subject) => [...(idsBySubject.get(subject) ?? [])],
    subjects: () => [...idsBySubject.keys()],
  };
}
