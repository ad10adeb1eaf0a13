/** Requests that cannot be recorded one by one: what is known of them together. */

import { REQUEST_PERIOD_MS } from '@gateway/balance-store';
import type { RequestRecord, RequestTokens } from '@gateway/balance-store';

/** Equal requests are counted together: those with the same account, key, model and outcome. */
export function kindOf(request: RequestRecord): string {
  const { accountId = '', keyId = '', model = '', endpoint, status, errorType = '' } = request;
  return `${accountId}\n${keyId}\n${model}\n${endpoint}\n${String(status)}\n${errorType}`;
}

export class Gaps {
  readonly #maxKinds: number;
  readonly #byKind = new Map<string, RequestRecord>();

  /** @param maxKinds - Requests of more kinds at once are forgotten, to bound the memory. */
  constructor(maxKinds: number) {
    this.#maxKinds = maxKinds;
  }

  /** How many kinds there are. */
  get count(): number {
    return this.#byKind.size;
  }

  add(request: RequestRecord): void {
    // A gap lies within one of the shortest periods that are summed.
    const period = Math.floor(request.endedAt / REQUEST_PERIOD_MS);
    const kind = `${kindOf(request)}\n${request.upstreamAccount ?? ''}\n${String(period)}`;
    const gap = this.#byKind.get(kind);
    if (gap !== undefined) this.#byKind.set(kind, together(gap, request));
    else if (this.#byKind.size < this.#maxKinds) this.#byKind.set(kind, gapOf(request));
  }

  /** Takes the gaps that began first, at most so many. */
  take(most: number): readonly RequestRecord[] {
    const taken = [...this.#byKind].slice(0, most);
    for (const [kind] of taken) this.#byKind.delete(kind);
    return taken.map(([, gap]) => gap);
  }
}

/** Keeps the id of the first request. What names single requests is left out. */
function gapOf(request: RequestRecord): RequestRecord {
  return {
    ...request,
    since: request.since ?? request.endedAt,
    errorMessage: undefined,
    fault: undefined,
    upstreamRequestId: undefined,
    traceId: undefined,
    client: undefined,
    sessionId: undefined,
    tag: undefined,
    memberId: undefined,
  };
}

function together(gap: RequestRecord, more: RequestRecord): RequestRecord {
  const count = gap.count + more.count;
  const mean = (one: number, other: number) =>
    Math.round((one * gap.count + other * more.count) / count);
  const [firstByteMs, ofMore] = [gap.firstByteMs, more.firstByteMs];
  return {
    ...gap,
    count,
    endedAt: Math.max(gap.endedAt, more.endedAt),
    durationMs: mean(gap.durationMs, more.durationMs),
    firstByteMs:
      firstByteMs === undefined || ofMore === undefined
        ? (firstByteMs ?? ofMore)
        : mean(firstByteMs, ofMore),
    tokens: sumOf(gap.tokens, more.tokens),
    charge:
      gap.charge === undefined && more.charge === undefined
        ? undefined
        : (gap.charge ?? 0n) + (more.charge ?? 0n),
  };
}

function sumOf(
  one: RequestTokens | undefined,
  other: RequestTokens | undefined,
): RequestTokens | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
  };
}
