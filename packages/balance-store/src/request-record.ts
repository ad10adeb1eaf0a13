/**
 * The record of requests: what each request was, how it ended and what it cost, failed ones too. It
 * is kept beside the ledger for some days, and is not part of it: it is neither sealed nor audited,
 * and losing it loses no money. See docs/decisions/0080.
 */

/** What requests are counted and filtered by. */
export interface RequestFacts {
  readonly accountId: string | undefined;
  readonly keyId: string | undefined;
  readonly model: string | undefined;
  /** The format of the request: `messages`, `chat.completions` or `responses`. */
  readonly endpoint: string;
  /** The status that the client got. */
  readonly status: number;
  /** Why it failed: the type of the client's error, or why no charge was confirmed. */
  readonly errorType: string | undefined;
  /** Which of several upstream accounts answered, by its name. */
  readonly upstreamAccount: string | undefined;
}

export interface RequestTokens {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export interface RequestRecord extends RequestFacts {
  /** `req_` and a UUID of version 7, which begins with the time at which the request began. */
  readonly id: string;
  /** When it was over, in milliseconds since the epoch. */
  readonly endedAt: number;
  readonly durationMs: number;
  /** From sending the request upstream to the first byte of the response's body. */
  readonly firstByteMs: number | undefined;
  readonly streamed: boolean;
  /** The client left before the end of the response. */
  readonly clientLeft: boolean;
  /** `undefined` if nothing was charged. */
  readonly tokens: RequestTokens | undefined;
  /** In units of 10^-14 USD; `undefined` if nothing was charged. */
  readonly charge: bigint | undefined;
  /** What the client was told, without what it may have quoted. */
  readonly errorMessage: string | undefined;
  /** For the operator: why there was no usable response. */
  readonly fault: string | undefined;
  readonly upstreamStatus: number | undefined;
  readonly upstreamRequestId: string | undefined;
  readonly traceId: string | undefined;
  /** The client's program, from the header `user-agent`. */
  readonly client: string | undefined;
  readonly sessionId: string | undefined;
  /** What the client names to sum by, such as a project. */
  readonly tag: string | undefined;
  /** The member that spent. */
  readonly memberId?: string | undefined;
  /**
   * How many requests it stands for: 1 for a request of its own, more for equal refusals, and for
   * requests of a gap.
   */
  readonly count: number;
  /**
   * Set for a gap: requests that could not be recorded one by one. When the first of them was over,
   * in milliseconds since the epoch; the last was at `endedAt`. Tokens and the charge are their
   * sums, durations their means.
   */
  readonly since: number | undefined;
}

export interface RequestBatch {
  /** After an error, the batch can be recorded again with its id, for a day: it is kept once. */
  readonly id?: string | undefined;
  /** Can be listed, in the order in which the requests ended. */
  readonly kept: readonly RequestRecord[];
  /** Only counted: the requests of a flood. */
  readonly counted: readonly RequestRecord[];
}

/** A request must have all of the given facts. */
export interface RequestFilter extends Partial<
  Omit<RequestFacts, 'status' | 'endpoint'> & {
    readonly sessionId: string | undefined;
    /** The client's program. */
    readonly client: string | undefined;
    readonly tag: string | undefined;
  }
> {
  readonly endpoint?: string | undefined;
  /** Inclusive. Compared with the time at which the request ended, as is `until`. */
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly until?: Date | undefined;
  /** Only statuses from this one on. */
  readonly statusFrom?: number | undefined;
  /** Only statuses below this one. */
  readonly statusUntil?: number | undefined;
  /** Whether it failed: it has an error type. */
  readonly failed?: boolean | undefined;
}

export interface RequestQuery extends RequestFilter {
  /** The id of the request, of the upstream's response, of its trace or of the client's session. */
  readonly id?: string | undefined;
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly cursor?: string | undefined;
}

export interface RequestPage {
  /** The last one that ended comes first. */
  readonly requests: readonly RequestRecord[];
  /**
   * Where the next page begins. A page may be shorter than its limit, or empty, although there is a
   * next one: reading stops after some thousand requests that do not fit the filter.
   */
  readonly next?: string;
}

export const REQUEST_DIMENSIONS = [
  'model',
  'account',
  'key',
  'endpoint',
  'upstream',
  'status',
  'error',
  'client',
  'session',
  'tag',
] as const;
export type RequestDimension = (typeof REQUEST_DIMENSIONS)[number];

/**
 * Sums are kept for periods of this length for two days, and for whole hours and days as long as
 * requests. Those of programs, sessions and tags are kept for whole days only.
 */
export const REQUEST_PERIOD_MS = 300_000;

export interface RequestSumQuery extends RequestFilter {
  /** A whole period, as is `until`. */
  readonly from: Date;
  readonly until: Date;
  /**
   * If programs, sessions or tags are summed or chosen, times and spans must be whole days in UTC.
   */
  readonly by: readonly RequestDimension[];
  /** Sums each span of this length by itself; a multiple of {@link REQUEST_PERIOD_MS}. */
  readonly everyMs?: number | undefined;
  /** Leaves out tokens and charges, which takes half of the time. */
  readonly without?: 'spend' | undefined;
  /** Refuses the query if it has more sums than this. */
  readonly maxSums: number;
}

export interface RequestSum extends Partial<RequestFacts> {
  /** The start of the span. */
  readonly start?: Date;
  readonly requests: number;
  readonly failed: number;
  /** The sum of their durations. */
  readonly durationMs: number;
  /** The sum of the times to the first byte of the `firstBytes` requests that have one. */
  readonly firstByteMs: number;
  readonly firstBytes: number;
  /** The client's program. Absent for requests of none, and for those that are only counted. */
  readonly client?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly tag?: string | undefined;
  /** Absent, as is `charge`, if the query leaves them out. */
  readonly tokens?: RequestTokens;
  /** In units of 10^-14 USD. */
  readonly charge?: bigint;
}

/** Of the record: the sums of programs, sessions and tags, all other sums, or the list. */
export type RecordedPart = 'labels' | 'sums' | 'requests';

export interface RequestPruning {
  /** Requests that ended before it are deleted. */
  readonly before: Date;
  /** If more requests than this can be listed, the oldest are deleted. */
  readonly maxKept: number;
}
