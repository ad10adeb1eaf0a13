/**
 * Reads the token counts of one request from the upstream's usage object. `cumulative-usage.ts`
 * joins those of a stream.
 */

import { isJsonObject, type JsonObject, objectOf } from './raw-json.js';

/** Classes of tokens. They do not overlap, except for the two that are described as parts. */
export interface Usage {
  /** Prompt tokens that were neither read from the cache nor written to it. */
  readonly inputTokens: number;
  /** All generated tokens, thinking included. */
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  /** All cache writes, of either lifetime. */
  readonly cacheCreationInputTokens: number;
  /** The part of `cacheCreationInputTokens` with a lifetime of one hour. */
  readonly cacheCreation1hInputTokens: number;
  /** The part of `outputTokens` spent on thinking. */
  readonly thinkingTokens: number;
}

/** Usage that can be charged, or the reason why it cannot. */
export type UsageReading =
  | {
      readonly outcome: 'read';
      readonly usage: Usage;
      /** Details that are unknown or contradict the counts. Absent when there are none. */
      readonly remarks?: readonly UsageRemark[];
      /** Parts of `usage` that a named model made. Absent when no model is named. */
      readonly byModel?: readonly ModelUsage[];
      /** Tokens that `usage` does not include. Absent when there are none. */
      readonly uncounted?: readonly UncountedUsage[];
      /**
       * The single model runs of which `usage` and `byModel` are sums. Absent when there are not
       * several, or when they do not add up.
       */
      readonly runs?: readonly ModelRun[];
      /** How the upstream ran the request, if not in the usual way. */
      readonly circumstances?: UsageCircumstances;
      /** Uses of the upstream's own tools, by what it counts, above 0. */
      readonly serverToolUse?: Readonly<Record<string, number>>;
    }
  | { readonly outcome: 'invalid'; readonly reason: string };

/**
 * A detail that a person should look into. At most the price of cache writes or of work outside the
 * counts depends on it, or the upstream's own price: that of another region, speed or tier, or of
 * its own tools.
 */
export interface UsageRemark {
  readonly detail:
    | 'cache_creation'
    | 'thinking_tokens'
    | 'iterations'
    | 'falling_counts'
    | 'inference_geo'
    | 'speed'
    | 'service_tier'
    | 'server_tool_use';
  /** A sentence for people, with the figures. */
  readonly message: string;
}

/** A model declined before any output, and another one went on. */
export interface Decline {
  /** As in `stop_details.category`; `undefined` if the upstream names none. */
  readonly category: string | undefined;
}

/** Tokens of one model, by the name that the upstream gives it. */
export interface ModelUsage {
  readonly model: string;
  readonly usage: Usage;
  /** Present if these are the tokens of an attempt that declined. */
  readonly declined?: Decline;
}

/** One run of a model, by the name that the upstream gives it, if it names one. */
export interface ModelRun {
  readonly model: string | undefined;
  readonly usage: Usage;
}

/** Values by which the upstream may choose among its prices. The usual ones are left out. */
export interface UsageCircumstances {
  readonly speed?: string;
  readonly serviceTier?: string;
  readonly inferenceGeo?: string;
}

/** Work of the upstream that the counts of the message leave out. */
export interface UncountedUsage {
  /** Its `type` in `iterations`, at most 50 characters of `[a-z0-9_]`. */
  readonly kind: string;
  /** The model that did the work, if it is named. */
  readonly model: string | undefined;
  /** Absent when its counts cannot be read, or when the message's counts may include it. */
  readonly usage: Usage | undefined;
  /** Present if the model declined before any output, and another one went on. */
  readonly declined?: Decline;
}

const MAX_TOKENS = 2 ** 31 - 1;

export function isTokenCount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_TOKENS;
}

/**
 * Reads the counts of a native usage object, or of one of its iterations. The four counts decide:
 * `input_tokens` and `output_tokens` must be present. The cache counts may be absent or null, which
 * means 0, or for cache writes the sum of `cache_creation`. A count that is not an integer from 0
 * to 2^31-1 makes the whole reading invalid, because a charge must not be guessed.
 *
 * Details only divide a count into parts. A detail that is larger than its count is limited to that
 * count, an unreadable one counts as 0, and an unknown lifetime is priced like five minutes.
 * `remarks` names each of these details. They do not make the reading invalid, because at most the
 * price of cache writes depends on them.
 */
export function readCounts(native: unknown): UsageReading {
  if (!isJsonObject(native)) return { outcome: 'invalid', reason: 'usage is missing' };
  let reason: string | undefined;
  const count = (name: string, absent?: number): number => {
    const value = native[name] ?? absent;
    if (isTokenCount(value)) return value;
    reason ??= `${name} is not a token count`;
    return 0;
  };
  const inputTokens = count('input_tokens');
  const outputTokens = count('output_tokens');
  const cacheReadInputTokens = count('cache_read_input_tokens', 0);
  const lifetimes = readLifetimes(native['cache_creation']);
  // If the total is missing, the sum of its parts takes its place.
  const cacheCreationInputTokens = count(CACHE_WRITES, lifetimes.total ?? 0);
  if (reason) return { outcome: 'invalid', reason };

  const remarks: UsageRemark[] = [];
  const remark = (detail: UsageRemark['detail'], message: string) =>
    remarks.push({ detail, message });
  const { oneHour, total = cacheCreationInputTokens, problem } = lifetimes;
  if (problem) remark('cache_creation', problem);
  if (total !== cacheCreationInputTokens) {
    remark('cache_creation', `${total} of ${cacheCreationInputTokens} tokens`);
  }
  const thinking = objectOf(native['output_tokens_details'])['thinking_tokens'] ?? 0;
  const thinkingTokens = isTokenCount(thinking) ? Math.min(thinking, outputTokens) : 0;
  if (thinking !== thinkingTokens) {
    remark('thinking_tokens', `${shown(thinking)} of ${outputTokens} output tokens`);
  }
  for (const [detail, , ...usual] of CIRCUMSTANCES) {
    const value = native[detail] ?? usual[0];
    if (!usual.some((each) => each === value)) remark(detail, shown(value));
  }
  const { counts, unreadable } = readServerToolUse(native['server_tool_use']);
  if (unreadable) remark('server_tool_use', unreadable);
  const usage: Usage = {
    inputTokens,
    outputTokens,
    cacheReadInputTokens,
    cacheCreationInputTokens,
    cacheCreation1hInputTokens: Math.min(oneHour, cacheCreationInputTokens),
    thinkingTokens,
  };
  const circumstances = readCircumstances(native);
  return {
    outcome: 'read',
    usage,
    ...(remarks[0] && { remarks }),
    ...(circumstances && { circumstances }),
    ...(counts && { serverToolUse: counts }),
  };
}

/** Names of the upstream, which become part of ledgers and documents. */
const NAME = /^[a-z][a-z0-9_-]{0,39}$/;

function readCircumstances(native: JsonObject): UsageCircumstances | undefined {
  let found: Record<string, string> | undefined;
  for (const [name, member, ...usual] of CIRCUMSTANCES) {
    const value = native[name];
    if (typeof value !== 'string' || usual.includes(value as never) || !NAME.test(value)) continue;
    found = { ...found, [member]: value };
  }
  return found;
}

interface ServerToolUse {
  readonly counts?: Readonly<Record<string, number>>;
  /** The first part that is neither a count under a name of the upstream, nor empty. */
  readonly unreadable?: string;
}

function readServerToolUse(native: unknown): ServerToolUse {
  if (native == null) return {};
  if (!isJsonObject(native)) return { unreadable: shown(native) };
  let counts: Record<string, number> | undefined;
  let unreadable: string | undefined;
  for (const [name, count] of Object.entries(native)) {
    if (!count) continue;
    if (isTokenCount(count) && NAME.test(name)) counts = { ...counts, [name]: count };
    else unreadable ??= `${shown(name)}: ${shown(count)}`;
  }
  return { ...(counts && { counts }), ...(unreadable && { unreadable }) };
}

/**
 * Members by which the upstream chooses among its prices, and their usual values. Other values are
 * remarked, because a table of prices need not have them.
 */
const CIRCUMSTANCES = [
  ['inference_geo', 'inferenceGeo', 'global', 'not_available'],
  ['speed', 'speed', 'standard'],
  ['service_tier', 'serviceTier', 'standard'],
] as const satisfies readonly (readonly [string, keyof UsageCircumstances, ...string[]])[];

interface Lifetimes {
  readonly oneHour: number;
  /**
   * The sum of all lifetimes. Absent if there is no split, or one of its values is not a token
   * count.
   */
  readonly total?: number;
  readonly problem?: string | undefined;
}

/**
 * Reads `cache_creation`: cache writes by lifetime. All lifetimes but one hour have the same price.
 */
export function readLifetimes(split: unknown): Lifetimes {
  if (split == null) return { oneHour: 0 };
  let total = 0;
  let oneHour = 0;
  let problem: string | undefined;
  for (const [name, tokens] of Object.entries(objectOf(split))) {
    if (!tokens) continue;
    const text = `${shown(name)}: ${shown(tokens)}`;
    if (!isTokenCount(tokens)) return { oneHour: 0, problem: text };
    total += tokens;
    if (name === ONE_HOUR) oneHour = tokens;
    else if (name !== 'ephemeral_5m_input_tokens') problem = text;
  }
  return { oneHour, total, problem };
}

/** Shortens an upstream's value for a remark. */
function shown(value: unknown): string {
  // A nested value could be too deep for `JSON.stringify`.
  return typeof value === 'object' ? 'an object' : String(JSON.stringify(value)).slice(0, 60);
}

export const CACHE_WRITES = 'cache_creation_input_tokens';
export const ONE_HOUR = 'ephemeral_1h_input_tokens';

/**
 * The `usage` of a chat completion. `prompt_tokens` counts the whole prompt, so that totals add up.
 */
export function chatUsage({
  inputTokens,
  outputTokens,
  cacheReadInputTokens: cached,
  cacheCreationInputTokens: written,
  thinkingTokens,
}: Usage) {
  const promptTokens = inputTokens + cached + written;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    completion_tokens_details: { reasoning_tokens: thinkingTokens },
  };
}
