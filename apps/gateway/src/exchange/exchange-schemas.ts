/**
 * The bodies of exchanges, as the OpenAPI document shows them. The translator and the rules of
 * `preparation` check requests; their formats are described by those who define them.
 */

import { z } from 'zod';
import { usd } from '../endpoints/schemas/basics.js';

/** The media types of a response besides JSON. */
export const EVENT_STREAM = ['text/event-stream'];

export const messages = z
  .looseObject({
    model: z.string(),
    messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
    stream: z.boolean().optional(),
  })
  .meta({ description: 'other members of the format are described in its own documentation' });
export const nativeRequest = messages.extend({ max_tokens: z.int().min(1) });
export const responsesRequest = z.looseObject({
  model: z.string(),
  input: z.unknown(),
  stream: z.boolean().optional(),
});
export const nativeResponse = z.looseObject({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(z.looseObject({ type: z.string() })),
  stop_reason: z.string().nullable(),
  usage: z.looseObject({ input_tokens: z.int(), output_tokens: z.int() }),
});
const charge_usd = usd.meta({ description: 'what the answer cost, exact' });
export const chatResponse = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  choices: z.array(z.looseObject({ index: z.int(), finish_reason: z.string().nullable() })),
  usage: z.looseObject({
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    total_tokens: z.int(),
    charge_usd,
  }),
});
export const responsesResponse = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  status: z.string(),
  output: z.array(z.looseObject({ type: z.string() })),
  usage: z.looseObject({
    input_tokens: z.int(),
    output_tokens: z.int(),
    total_tokens: z.int(),
    charge_usd,
  }),
});
