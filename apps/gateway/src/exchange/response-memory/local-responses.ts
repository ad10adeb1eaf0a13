/** Keeps responses in the memory of this process. They are gone when it ends. */

import { MINUTE_MS } from '../../base/times.js';
import type { ResponseMemoryLimits } from '../../config/config.js';
import { sizeOf } from './response-memory.js';
import type { KeptResponse, ResponseMemory, ResponseOwner } from './response-memory.js';

interface Entry extends KeptResponse, ResponseOwner {
  readonly name: string;
  readonly bytes: number;
  expiresAt: number;
}

/** What an account has, the least recently used response first. */
interface Share {
  bytes: number;
  readonly entries: Map<string, Entry>;
}

/** Expired responses are removed at least this often, also if nobody makes requests. */
const SWEEP_MS = MINUTE_MS;

export interface LocalResponses extends ResponseMemory {
  /** The memory that is in use, also by responses that have expired since the last sweep. */
  keptBytes(): number;
}

/** @param now - Milliseconds since the epoch. */
export function createLocalResponses({
  ttlMs,
  maxBytes,
  now,
}: ResponseMemoryLimits & { readonly now: () => number }): LocalResponses {
  /** The least recently used first, which is also the first to expire. */
  const entries = new Map<string, Entry>();
  const shares = new Map<string, Share>();
  let used = 0;
  const sweep = setInterval(dropExpired, Math.min(SWEEP_MS, ttlMs)).unref();

  function dropExpired(): void {
    const at = now();
    for (const entry of entries.values()) {
      if (entry.expiresAt > at) return;
      drop(entry);
    }
  }

  function drop({ name, accountId, bytes }: Entry): void {
    entries.delete(name);
    used -= bytes;
    const share = shares.get(accountId);
    if (share === undefined) return;
    share.entries.delete(name);
    share.bytes -= bytes;
    if (share.entries.size === 0) shares.delete(accountId);
  }

  function add(entry: Entry): void {
    const { name, accountId, bytes } = entry;
    const share = shares.get(accountId) ?? { bytes: 0, entries: new Map<string, Entry>() };
    shares.set(accountId, share);
    share.entries.set(name, entry);
    share.bytes += bytes;
    entries.set(name, entry);
    used += bytes;
  }

  function makeRoom(accountId: string, bytes: number): boolean {
    if (bytes * 2 > maxBytes) return false;
    while (used + bytes > maxBytes) {
      const [oldest] = largestShare(accountId, bytes)?.entries.values() ?? [];
      if (oldest === undefined) return false;
      drop(oldest);
    }
    return true;
  }

  /** The share that would be the largest if `accountId` had so much more. */
  function largestShare(accountId: string, more: number): Share | undefined {
    let largest = shares.get(accountId);
    let most = (largest?.bytes ?? 0) + more;
    for (const share of shares.values()) {
      if (share.bytes <= most) continue;
      largest = share;
      most = share.bytes;
    }
    return largest;
  }

  function use(owner: ResponseOwner, id: string): Entry | undefined {
    dropExpired();
    const entry = entries.get(nameOf(owner, id));
    if (entry === undefined) return undefined;
    drop(entry);
    add({ ...entry, expiresAt: now() + ttlMs });
    return entry;
  }

  return {
    remember(owner, id, kept) {
      dropExpired();
      const name = nameOf(owner, id);
      const former = entries.get(name);
      if (former !== undefined) drop(former);
      const bytes = sizeOf(kept);
      if (!makeRoom(owner.accountId, bytes)) return Promise.resolve('no_room');
      const { conversation, response } = kept;
      add({ ...owner, name, conversation, response, bytes, expiresAt: now() + ttlMs });
      return Promise.resolve('kept');
    },
    measure(owner, id) {
      dropExpired();
      const entry = entries.get(nameOf(owner, id));
      return Promise.resolve(
        entry && { conversation: entry.conversation.length, response: entry.response.length },
      );
    },
    recall: (owner, id) => Promise.resolve(use(owner, id)),
    recallResponse: (owner, id) => Promise.resolve(use(owner, id)?.response),
    forget(owner, id) {
      dropExpired();
      const entry = entries.get(nameOf(owner, id));
      if (entry !== undefined) drop(entry);
      return Promise.resolve(entry !== undefined);
    },
    forgetAll({ accountId, keyId }) {
      for (const entry of [...(shares.get(accountId)?.entries.values() ?? [])]) {
        if (keyId === undefined || entry.keyId === keyId) drop(entry);
      }
      return Promise.resolve();
    },
    keptBytes: () => used,
    close() {
      clearInterval(sweep);
      entries.clear();
      shares.clear();
      used = 0;
    },
  };
}

function nameOf({ keyId }: ResponseOwner, id: string): string {
  return `${keyId}:${id}`;
}
