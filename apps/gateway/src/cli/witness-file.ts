/**
 * A witness file: one JSON object per line. An object is either the id of a request with the usage
 * that its client received, or a line of the gateway's log. In a log, only the lines of charged
 * requests are read.
 */

import { z } from 'zod';
import { formatUsd } from '@gateway/billing';
import type { Usage } from '@gateway/translator';
import { readUsage } from '@gateway/translator';
import { unsignedAmountUsd } from '../endpoints/fields.js';
import { invalidInput } from '../endpoints/operation-error.js';
import { lostCharge } from '../operator/operations/recharge.js';
import type { LostChargeInput } from '../operator/operations/recharge.js';
import type { WitnessedUsage } from '../operator/operations/witness.js';
import { isLogLine, readJsonLines } from './json-lines.js';
import type { JsonLine } from './json-lines.js';

const count = z.int().min(0).nullish();

const tokens = z.int().min(0);

/** A usage, with the other facts in its line. */
export interface WitnessLine {
  /** The file and the number of the line, for error texts. */
  readonly place: string;
  readonly usage: WitnessedUsage;
  /** A lost charge needs the key and the model, too. */
  readonly more: Partial<Omit<LostChargeInput, keyof WitnessedUsage>>;
  /** For a line of the log: when the request ended. */
  readonly endedAt?: string;
}

type Counts = Omit<WitnessedUsage, 'request_id' | 'charge_usd'> & {
  readonly of1h?: number;
  /** The usage object itself, if a lost charge is priced by more of it than the counts. */
  readonly native?: Record<string, unknown>;
};

const nativeUsage = z
  .looseObject({
    input_tokens: tokens,
    output_tokens: tokens,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
    cache_creation: z.looseObject({ ephemeral_1h_input_tokens: count }).nullish(),
    // In the responses format `input_tokens` counts the whole prompt, so such a usage must not be
    // read as a native one.
    input_tokens_details: z.never().optional(),
  })
  .transform((usage): Counts => ({
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    cache_read_input_tokens: usage.cache_read_input_tokens ?? 0,
    cache_creation_input_tokens: usage.cache_creation_input_tokens ?? 0,
    ...wholeOf(usage),
    of1h: usage.cache_creation?.ephemeral_1h_input_tokens ?? 0,
    ...(usage['iterations'] == null ? {} : { native: usage }),
  }));

/** The work that a usage object only lists in `iterations` is charged, too. */
function wholeOf(usage: unknown): Pick<Counts, 'whole'> {
  const reading = readUsage(usage);
  if (reading.outcome === 'invalid') return {};
  const all = [reading.usage, ...(reading.uncounted ?? []).flatMap((part) => part.usage ?? [])];
  const sumOf = (name: keyof Usage): number => all.reduce((sum, each) => sum + each[name], 0);
  return {
    whole: {
      input_tokens: sumOf('inputTokens'),
      output_tokens: sumOf('outputTokens'),
      cache_read_input_tokens: sumOf('cacheReadInputTokens'),
      cache_creation_input_tokens: sumOf('cacheCreationInputTokens'),
    },
  };
}

const promptDetails = z.looseObject({ cached_tokens: count, cache_write_tokens: count });

const chatUsage = z
  .looseObject({
    prompt_tokens: tokens,
    completion_tokens: tokens,
    prompt_tokens_details: promptDetails.nullish(),
  })
  .transform((usage) =>
    countsOf(usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details),
  );

const responsesUsage = z
  .looseObject({
    input_tokens: tokens,
    output_tokens: tokens,
    input_tokens_details: promptDetails,
  })
  .transform((usage) =>
    countsOf(usage.input_tokens, usage.output_tokens, usage.input_tokens_details),
  );

/** Divides the count of a prompt into the parts that have separate prices. */
function countsOf(
  promptTokens: number,
  outputTokens: number,
  details: z.infer<typeof promptDetails> | null | undefined,
): Counts {
  const read = details?.cached_tokens ?? 0;
  const written = details?.cache_write_tokens ?? 0;
  return {
    input_tokens: promptTokens - read - written,
    output_tokens: outputTokens,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
  };
}

const line = z.looseObject({
  request_id: z.string().min(1),
  usage: z.union([nativeUsage, chatUsage, responsesUsage], {
    error: 'must be a usage object of the messages, the chat completions or the responses format',
  }),
  content: lostCharge.shape.content,
  charge_usd: z.string().optional(),
  key_id: z.string().optional(),
  model: z.string().optional(),
});

const loggedCharge = z.looseObject({
  request_id: z.string().min(1),
  model: z.string(),
  charge_usd: unsignedAmountUsd,
  written_off_usd: unsignedAmountUsd.default(0n),
  cost_usd: unsignedAmountUsd.optional(),
  input_tokens: tokens,
  output_tokens: tokens,
  cache_read_input_tokens: tokens,
  cache_creation_input_tokens: tokens,
  cache_creation_1h_input_tokens: tokens.default(0),
  pricing: lostCharge.shape.pricing,
});
type LoggedCharge = z.output<typeof loggedCharge>;

/** The log line of a request that was charged. Its amounts are the sums of all its charges. */
const chargedLogLine = loggedCharge.extend({
  time: z.iso.datetime(),
  duration_ms: z.number().min(0).default(0),
  key_id: z.string(),
  endpoint: z.enum(['messages', 'chat.completions', 'responses']),
  streamed: z.boolean(),
  upstream_account: z.string().optional(),
  member_id: z.string().optional(),
  groups: z.string().optional(),
  tag: z.string().optional(),
  run: z.string().optional(),
  /** Charges of their own, because another model did the work. */
  parts: z.array(loggedCharge).default([]),
});

/**
 * Reads a witness file line by line. Lines that do not begin an object are skipped.
 *
 * @throws {OperationError} names the first line that cannot be used, or the file has no object.
 */
export async function* readWitnessFile(path: string): AsyncGenerator<WitnessLine, undefined> {
  let hasObject = false;
  for await (const json of readJsonLines(path)) {
    hasObject = true;
    yield* witnessedOf(json);
  }
  if (!hasObject) {
    const message = `${path}: has no line with a usage object or of the gateway's log`;
    throw invalidInput(message);
  }
  return undefined;
}

function witnessedOf({ json, place }: JsonLine): readonly WitnessLine[] {
  if (isLogLine(json)) return chargesOf(json, place);
  const parsed = line.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join('.') ?? '';
    const where = field === '' ? place : `${place}: ${field}`;
    throw invalidInput(`${where}: ${issue?.message ?? ''}`);
  }
  const { request_id, usage, content, charge_usd, key_id, model } = parsed.data;
  const { of1h = 0, native, ...counts } = usage;
  return [
    {
      place,
      usage: { request_id, ...counts, ...(charge_usd === undefined ? {} : { charge_usd }) },
      more: {
        ...(key_id === undefined ? {} : { key_id }),
        ...(model === undefined ? {} : { model }),
        ...(of1h === 0 ? {} : { cache_creation_1h_input_tokens: of1h }),
        ...(native === undefined ? {} : { native_usage: native }),
        ...(content === undefined ? {} : { content }),
      },
    },
  ];
}

/** @returns the charges of one request; none if the line is not about a charge */
export function chargesOf(json: unknown, place: string): readonly WitnessLine[] {
  const parsed = chargedLogLine.safeParse(json);
  if (!parsed.success) return [];
  const { data } = parsed;
  const { key_id, endpoint, streamed, upstream_account, parts } = data;
  const { member_id = null, groups, tag, run } = data;
  const request = {
    key_id,
    // The rates of this moment apply. A line is written when its request ends.
    at: new Date(Date.parse(data.time) - data.duration_ms).toISOString(),
    endpoint,
    streamed,
    ...(upstream_account === undefined ? {} : { upstream_account }),
    member_id,
    ...(groups === undefined ? {} : { groups }),
    ...(tag === undefined ? {} : { tag }),
    ...(run === undefined ? {} : { run }),
  };
  return [withoutParts(data, parts), ...parts].map(
    ({ request_id, model, charge_usd, written_off_usd, cost_usd, pricing, ...counts }) => ({
      place,
      usage: {
        request_id,
        input_tokens: counts.input_tokens,
        output_tokens: counts.output_tokens,
        cache_read_input_tokens: counts.cache_read_input_tokens,
        cache_creation_input_tokens: counts.cache_creation_input_tokens,
        charge_usd: formatUsd(charge_usd),
      },
      more: {
        ...request,
        model,
        cache_creation_1h_input_tokens: counts.cache_creation_1h_input_tokens,
        pricing: pricing ?? { terms: {}, fees: [] },
        ...(written_off_usd === 0n ? {} : { written_off_usd: formatUsd(written_off_usd) }),
        ...(charge_usd + written_off_usd === 0n && hasTokens(counts) ? { is_unbilled: true } : {}),
        ...(cost_usd === undefined ? {} : { cost_usd: formatUsd(cost_usd) }),
      },
      endedAt: data.time,
    }),
  );
}

function hasTokens(counts: Omit<Counts, 'of1h'>): boolean {
  return (
    counts.input_tokens +
      counts.output_tokens +
      counts.cache_read_input_tokens +
      counts.cache_creation_input_tokens >
    0
  );
}

/** The charge of the message alone. A line has no cost if that of one of its parts is unknown. */
function withoutParts(line: LoggedCharge, parts: readonly LoggedCharge[]): LoggedCharge {
  const rest = (all: bigint, amountOf: (part: LoggedCharge) => bigint): bigint =>
    parts.reduce((left, part) => left - amountOf(part), all);
  return {
    ...line,
    charge_usd: rest(line.charge_usd, ({ charge_usd }) => charge_usd),
    written_off_usd: rest(line.written_off_usd, ({ written_off_usd }) => written_off_usd),
    cost_usd: line.cost_usd && rest(line.cost_usd, ({ cost_usd = 0n }) => cost_usd),
  };
}
