/**
 * A witness file: one JSON object per line. An object is either the id of a request with the usage
 * that its client received, or a line of the gateway's log. In a log, only the lines of charged
 * requests are read.
 */

import { z } from 'zod';
import { OperationError } from '../operations/operation.js';
import type { LostChargeInput } from '../operations/recharge.js';
import type { WitnessedUsage } from '../operations/witness.js';
import { isLogLine, readJsonLines } from './json-lines.js';
import type { JsonLine } from './json-lines.js';

const count = z.int().min(0).nullish();

const tokens = z.int().min(0);

/** A usage, with the other facts in its line. */
export interface WitnessLine {
  /** For messages: the file and the number of the line. */
  readonly place: string;
  readonly usage: WitnessedUsage;
  /** A lost charge needs the key and the model, too. */
  readonly more: Partial<Omit<LostChargeInput, keyof WitnessedUsage>>;
}

/** The counts that the ledger has. */
type Counts = Omit<WitnessedUsage, 'request_id' | 'charge_usd'> & { readonly of1h?: number };

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
    of1h: usage.cache_creation?.ephemeral_1h_input_tokens ?? 0,
  }));

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
  charge_usd: z.string().optional(),
  key_id: z.string().optional(),
  model: z.string().optional(),
});

/** The log line of a request that was charged. */
const chargedLogLine = z.looseObject({
  time: z.string(),
  request_id: z.string().min(1),
  key_id: z.string(),
  model: z.string(),
  endpoint: z.enum(['messages', 'chat.completions', 'responses']),
  streamed: z.boolean(),
  charge_usd: z.string(),
  written_off_usd: z.string().optional(),
  input_tokens: tokens,
  output_tokens: tokens,
  cache_read_input_tokens: tokens,
  cache_creation_input_tokens: tokens,
  cache_creation_1h_input_tokens: tokens.optional(),
  upstream_account: z.string().optional(),
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
    const witnessed = witnessedOf(json);
    if (witnessed !== undefined) yield witnessed;
  }
  if (!hasObject) {
    const message = `${path}: has no line with a usage object or of the gateway's log`;
    throw new OperationError(400, 'invalid_request_error', message);
  }
  return undefined;
}

function witnessedOf({ json, place }: JsonLine): WitnessLine | undefined {
  if (isLogLine(json)) return chargedOf(json, place);
  const parsed = line.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join('.') ?? '';
    const where = field === '' ? place : `${place}: ${field}`;
    throw new OperationError(400, 'invalid_request_error', `${where}: ${issue?.message ?? ''}`);
  }
  const { request_id, usage, charge_usd, key_id, model } = parsed.data;
  const { of1h = 0, ...counts } = usage;
  return {
    place,
    usage: { request_id, ...counts, ...(charge_usd === undefined ? {} : { charge_usd }) },
    more: {
      ...(key_id === undefined ? {} : { key_id }),
      ...(model === undefined ? {} : { model }),
      ...(of1h === 0 ? {} : { cache_creation_1h_input_tokens: of1h }),
    },
  };
}

/** @returns `undefined` for a line that is not about a charge */
export function chargedOf(json: unknown, place: string): WitnessLine | undefined {
  const parsed = chargedLogLine.safeParse(json);
  if (!parsed.success) return undefined;
  const { data } = parsed;
  return {
    place,
    usage: {
      request_id: data.request_id,
      input_tokens: data.input_tokens,
      output_tokens: data.output_tokens,
      cache_read_input_tokens: data.cache_read_input_tokens,
      cache_creation_input_tokens: data.cache_creation_input_tokens,
      charge_usd: data.charge_usd,
    },
    more: {
      key_id: data.key_id,
      model: data.model,
      at: data.time,
      endpoint: data.endpoint,
      streamed: data.streamed,
      cache_creation_1h_input_tokens: data.cache_creation_1h_input_tokens ?? 0,
      ...(data.upstream_account === undefined ? {} : { upstream_account: data.upstream_account }),
      ...(data.written_off_usd === undefined ? {} : { written_off_usd: data.written_off_usd }),
    },
  };
}
