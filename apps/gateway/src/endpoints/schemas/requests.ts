/** Recorded requests and their sums. */

import { z } from 'zod';
import { count, listOf, orNull, text, time, usd } from './basics.js';

const requestMembers = {
  object: z.literal('recorded_request'),
  id: text,
  ended_at: time,
  account_id: orNull(text),
  key_id: orNull(text),
  model: orNull(text),
  endpoint: text,
  status: z.int(),
  error_type: orNull(text),
  error_message: orNull(text).meta({ description: 'without what it quoted' }),
  streamed: z.boolean(),
  client_left: z.boolean(),
  count: count.meta({ description: 'how many equal refusals, or requests of a gap; otherwise 1' }),
  not_recorded_since: orNull(time).meta({
    description:
      'of a gap: `count` requests, the first over at this time and the last at `ended_at`, were ' +
      'not recorded one by one. Tokens and the charge are their sums, times their means',
  }),
  duration_ms: count,
  first_byte_ms: orNull(count),
  input_tokens: orNull(count),
  output_tokens: orNull(count),
  cache_read_input_tokens: orNull(count),
  cache_creation_input_tokens: orNull(count),
  charged_usd: orNull(usd),
  upstream_request_id: orNull(text),
  trace_id: orNull(text),
  client: orNull(text),
  session: orNull(text),
  tag: orNull(text),
};

/** A recorded request, as its customer sees it. */
export const recordedRequest = z.strictObject(requestMembers).meta({ id: 'RecordedRequest' });

export const operatorRecordedRequest = z
  .strictObject({
    ...requestMembers,
    account_name: orNull(text).exactOptional(),
    key_name: orNull(text).exactOptional(),
    upstream_account: orNull(text),
    upstream_status: orNull(z.int()),
    fault: orNull(text),
  })
  .meta({ id: 'OperatorRecordedRequest' });

export const requestSums = listOf(
  z
    .strictObject({
      object: z.literal('request_sum'),
      start: time.exactOptional(),
      account_id: orNull(text).exactOptional(),
      account_name: orNull(text).exactOptional(),
      key_id: orNull(text).exactOptional(),
      key_name: orNull(text).exactOptional(),
      model: orNull(text).exactOptional(),
      endpoint: orNull(text).exactOptional(),
      upstream_account: orNull(text).exactOptional(),
      status: orNull(z.int()).exactOptional(),
      error_type: orNull(text).exactOptional(),
      client: orNull(text).exactOptional(),
      session: orNull(text).exactOptional(),
      tag: orNull(text).exactOptional(),
      requests: count,
      failed: count,
      mean_duration_ms: count,
      mean_first_byte_ms: orNull(count),
      input_tokens: count,
      output_tokens: count,
      cache_read_input_tokens: count,
      cache_creation_input_tokens: count,
      charged_usd: usd,
    })
    .meta({ id: 'RequestSum' }),
).extend({
  from: time,
  until: time.meta({ description: 'not included' }),
  recorded_from: orNull(time).meta({ description: 'where the record of requests begins' }),
});
