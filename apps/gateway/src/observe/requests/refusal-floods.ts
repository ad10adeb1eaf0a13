/**
 * Combines equal refusals, so that a flood of them takes two rows a minute in the record of
 * requests. Each account has kinds of its own: one that is refused in many ways, which costs its
 * holder nothing, hides no request of another.
 */

import type { RequestRecord } from '@gateway/balance-store';
import { MINUTE_MS } from '../../base/times.js';
import { kindOf } from './gaps.js';

/** Equal refusals in this time become one request, after the first. */
const FLOOD_MS = MINUTE_MS;
const MAX_KINDS_OF_ACCOUNT = 200;
/** While all accounts together have so many kinds, each may only have the fewest. */
const MAX_KINDS = 10_000;
const FEWEST_KINDS_OF_ACCOUNT = 10;

interface Flood {
  readonly accountId: string | undefined;
  readonly until: number;
  /** The refusals after the first, as one. */
  more: RequestRecord | undefined;
}

export class RefusalFloods {
  /** By kind, in the order of their ends. */
  readonly #floods = new Map<string, Flood>();
  readonly #kindsOf = new Map<string | undefined, number>();

  get size(): number {
    return this.#floods.size;
  }

  /**
   * @returns `first`: record it now. `combined`: {@link end} returns it, with others.
   * `too_many_kinds`: its account has no room for a further kind.
   */
  take(request: RequestRecord): 'first' | 'combined' | 'too_many_kinds' {
    const kind = kindOf(request);
    const flood = this.#floods.get(kind);
    if (flood !== undefined) {
      flood.more = combined(flood.more, request);
      return 'combined';
    }
    const { accountId, endedAt } = request;
    const kinds = this.#kindsOf.get(accountId) ?? 0;
    if (kinds >= (this.size < MAX_KINDS ? MAX_KINDS_OF_ACCOUNT : FEWEST_KINDS_OF_ACCOUNT)) {
      return 'too_many_kinds';
    }
    this.#floods.set(kind, { accountId, until: endedAt + FLOOD_MS, more: undefined });
    this.#kindsOf.set(accountId, kinds + 1);
    return 'first';
  }

  /** @returns what was combined in the floods that have ended */
  end(at: number): readonly RequestRecord[] {
    const ended: RequestRecord[] = [];
    for (const [kind, { accountId, until, more }] of this.#floods) {
      if (until > at) break;
      this.#floods.delete(kind);
      const kinds = (this.#kindsOf.get(accountId) ?? 1) - 1;
      if (kinds === 0) this.#kindsOf.delete(accountId);
      else this.#kindsOf.set(accountId, kinds);
      if (more !== undefined) ended.push(more);
    }
    return ended;
  }
}

/** The last of several refusals, with their number and their mean duration. */
function combined(more: RequestRecord | undefined, request: RequestRecord): RequestRecord {
  if (more === undefined) return request;
  const count = more.count + request.count;
  const total = more.durationMs * more.count + request.durationMs * request.count;
  return { ...request, count, durationMs: Math.round(total / count) };
}
