/**
 * A witness file: one JSON object per line, with the id of a request and the usage its client
 * received.
 */

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { OperationError } from '../operations/operations.js';
import type { WitnessedUsage } from '../operations/witness.js';

const count = z.int().min(0).nullish();

const nativeUsage = z.looseObject({
  input_tokens: z.int().min(0),
  output_tokens: z.int().min(0),
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
});

const chatUsage = z.looseObject({
  prompt_tokens: z.int().min(0),
  completion_tokens: z.int().min(0),
  prompt_tokens_details: z
    .looseObject({ cached_tokens: count, cache_write_tokens: count })
    .nullish(),
});

const line = z.looseObject({
  request_id: z.string().min(1),
  usage: z.union([nativeUsage, chatUsage], {
    error: 'must be a usage object of the messages or the chat completions format',
  }),
  charge_usd: z.string().optional(),
});

/**
 * Reads a witness file line by line; empty lines are skipped.
 *
 * @throws {OperationError} names the first line that cannot be used.
 */
export async function* readWitnessFile(path: string): AsyncGenerator<WitnessedUsage, undefined> {
  let number = 0;
  for await (const text of createInterface({
    input: createReadStream(path),
    crlfDelay: Infinity,
  })) {
    number += 1;
    if (text.trim() === '') continue;
    yield witnessedOf(text, `${path}:${String(number)}`);
  }
  return undefined;
}

function witnessedOf(text: string, place: string): WitnessedUsage {
  const parsed = line.safeParse(jsonOf(text));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join('.') ?? '';
    const where = field === '' ? place : `${place}: ${field}`;
    throw new OperationError(400, 'invalid_request_error', `${where}: ${issue?.message ?? ''}`);
  }
  const { request_id, usage, charge_usd } = parsed.data;
  const charge = charge_usd === undefined ? {} : { charge_usd };
  if ('input_tokens' in usage) {
    const native = nativeUsage.parse(usage);
    return {
      request_id,
      input_tokens: native.input_tokens,
      output_tokens: native.output_tokens,
      cache_read_input_tokens: native.cache_read_input_tokens ?? 0,
      cache_creation_input_tokens: native.cache_creation_input_tokens ?? 0,
      ...charge,
    };
  }
  const chat = chatUsage.parse(usage);
  const read = chat.prompt_tokens_details?.cached_tokens ?? 0;
  const written = chat.prompt_tokens_details?.cache_write_tokens ?? 0;
  return {
    request_id,
    input_tokens: chat.prompt_tokens - read - written,
    output_tokens: chat.completion_tokens,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    ...charge,
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
