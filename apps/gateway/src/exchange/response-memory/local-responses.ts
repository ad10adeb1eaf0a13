/** Keeps responses in the memory of this process. They are gone when it ends. */

import { MINUTE_MS } from '../../base/times.js';
import type { ResponseMemoryLimits } from '../../config/config.js';
import { sizeOf } from './response-memory.js';
import type { KeptBytes, KeptResponse, ResponseMemory, ResponseOwner } from './response-memory.js';

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

/** The memory of a process for responses. Accounts share it: see `#makeRoom`. */
export class LocalResponses implements ResponseMemory {
  readonly #ttlMs: number;
  readonly #maxBytes: number;
  readonly #now: () => number;
  /** The least recently used first, which is also the first to expire. */
  readonly #entries = new Map<string, Entry>();
  readonly #shares = new Map<string, Share>();
  #used = 0;
  readonly #sweep: NodeJS.Timeout;

  /** @param options.now - Milliseconds since the epoch. */
  constructor({ ttlMs, maxBytes, now }: ResponseMemoryLimits & { readonly now: () => number }) {
    this.#ttlMs = ttlMs;
    this.#maxBytes = maxBytes;
    this.#now = now;
    const sweep = () => {
      this.#dropExpired();
    };
    this.#sweep = setInterval(sweep, Math.min(SWEEP_MS, ttlMs)).unref();
  }

  remember(
    owner: ResponseOwner,
    id: string,
    { conversation, response }: KeptResponse,
  ): Promise<'kept' | 'no_room'> {
    this.#dropExpired();
    const name = nameOf(owner, id);
    this.#drop(this.#entries.get(name));
    const bytes = sizeOf({ conversation, response });
    if (!this.#makeRoom(owner.accountId, bytes)) return Promise.resolve('no_room');
    const expiresAt = this.#now() + this.#ttlMs;
    this.#add({ ...owner, name, conversation, response, bytes, expiresAt });
    return Promise.resolve('kept');
  }

  measure(owner: ResponseOwner, ids: readonly string[], needed = 0) {
    this.#dropExpired();
    const sizes: (KeptBytes | undefined)[] = [];
    for (const id of ids) {
      const entry = this.#entries.get(nameOf(owner, id));
      if (entry === undefined && sizes.length < needed) break;
      const { conversation, response } = entry ?? {};
      sizes.push(
        conversation &&
          response && { conversation: conversation.length, response: response.length },
      );
    }
    return Promise.resolve(sizes);
  }

  recall(owner: ResponseOwner, ids: readonly string[]) {
    return Promise.resolve(ids.map((id) => this.#use(owner, id)));
  }

  recallResponses(owner: ResponseOwner, ids: readonly string[]) {
    return Promise.resolve(ids.map((id) => this.#use(owner, id)?.response));
  }

  forget(owner: ResponseOwner, id: string): Promise<boolean> {
    this.#dropExpired();
    const entry = this.#entries.get(nameOf(owner, id));
    this.#drop(entry);
    return Promise.resolve(entry !== undefined);
  }

  forgetAll({ accountId, keyId }: Parameters<ResponseMemory['forgetAll']>[0]): Promise<void> {
    for (const entry of [...(this.#shares.get(accountId)?.entries.values() ?? [])]) {
      if (keyId === undefined || entry.keyId === keyId) this.#drop(entry);
    }
    return Promise.resolve();
  }

  /** The memory that is in use, also by responses that have expired since the last sweep. */
  keptBytes(): number {
    return this.#used;
  }

  close(): void {
    clearInterval(this.#sweep);
    this.#entries.clear();
    this.#shares.clear();
    this.#used = 0;
  }

  #dropExpired(): void {
    const at = this.#now();
    for (const entry of this.#entries.values()) {
      if (entry.expiresAt > at) return;
      this.#drop(entry);
    }
  }

  #drop(entry: Entry | undefined): void {
    if (entry === undefined) return;
    const { name, accountId, bytes } = entry;
    this.#entries.delete(name);
    this.#used -= bytes;
    const share = this.#shares.get(accountId);
    if (share === undefined) return;
    share.entries.delete(name);
    share.bytes -= bytes;
    if (share.entries.size === 0) this.#shares.delete(accountId);
  }

  #add(entry: Entry): void {
    const { name, accountId, bytes } = entry;
    const share = this.#shares.get(accountId) ?? { bytes: 0, entries: new Map<string, Entry>() };
    this.#shares.set(accountId, share);
    share.entries.set(name, entry);
    share.bytes += bytes;
    this.#entries.set(name, entry);
    this.#used += bytes;
  }

  /** Drops the oldest responses of the account that has the most, until there is room. */
  #makeRoom(accountId: string, bytes: number): boolean {
    if (bytes * 2 > this.#maxBytes) return false;
    while (this.#used + bytes > this.#maxBytes) {
      const [oldest] = this.#largestShare(accountId, bytes)?.entries.values() ?? [];
      if (oldest === undefined) return false;
      this.#drop(oldest);
    }
    return true;
  }

  /** The share that would be the largest if `accountId` had so much more. */
  #largestShare(accountId: string, more: number): Share | undefined {
    let largest = this.#shares.get(accountId);
    let most = (largest?.bytes ?? 0) + more;
    for (const share of this.#shares.values()) {
      if (share.bytes <= most) continue;
      largest = share;
      most = share.bytes;
    }
    return largest;
  }

  #use(owner: ResponseOwner, id: string): Entry | undefined {
    this.#dropExpired();
    const entry = this.#entries.get(nameOf(owner, id));
    if (entry === undefined) return undefined;
    this.#drop(entry);
    this.#add({ ...entry, expiresAt: this.#now() + this.#ttlMs });
    return entry;
  }
}

function nameOf({ keyId }: ResponseOwner, id: string): string {
  return `${keyId}:${id}`;
}
