/** Recorded requests and their sums. */

import { z } from 'zod';
import type { RequestRecord } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { membersFrom, viewFor } from '../resource.js';
import { addedName, count, listOf, orNull, text, time, usd } from './basics.js';

const seenBy = membersFrom<RequestRecord>();

export const requestMembers = {
  object: seenBy.everyone(z.literal('recorded_request'), () => 'recorded_request' as const),
  id: seenBy.everyone(text, ({ id }) => id),
  ended_at: seenBy.everyone(time, ({ endedAt }) => new Date(endedAt).toISOString()),
  account_id: seenBy.everyone(orNull(text), ({ accountId }) => accountId ?? null),
  key_id: seenBy.everyone(orNull(text), ({ keyId }) => keyId ?? null),
  model: seenBy.everyone(orNull(text), ({ model }) => model ?? null),
  endpoint: seenBy.everyone(text, ({ endpoint }) => endpoint),
  status: seenBy.everyone(z.int(), ({ status }) => status),
  error_type: seenBy.everyone(orNull(text), ({ errorType }) => errorType ?? null),
  error_message: seenBy.everyone(
    orNull(text).meta({ description: 'without what it quoted' }),
    ({ errorMessage }) => errorMessage ?? null,
  ),
  streamed: seenBy.everyone(z.boolean(), ({ streamed }) => streamed),
  client_left: seenBy.everyone(z.boolean(), ({ clientLeft }) => clientLeft),
  count: seenBy.everyone(
    count.meta({ description: 'how many equal refusals, or requests of a gap; otherwise 1' }),
    (request) => request.count,
  ),
  not_recorded_since: seenBy.everyone(
    orNull(time).meta({
      description:
        'of a gap: `count` requests, the first over at this time and the last at `ended_at`, were ' +
        'not recorded one by one. Tokens and the charge are their sums, times their means',
    }),
    ({ since }) => (since === undefined ? null : new Date(since).toISOString()),
  ),
  duration_ms: seenBy.everyone(count, ({ durationMs }) => durationMs),
  first_byte_ms: seenBy.everyone(orNull(count), ({ firstByteMs }) => firstByteMs ?? null),
  input_tokens: seenBy.everyone(orNull(count), ({ tokens }) => tokens?.input ?? null),
  output_tokens: seenBy.everyone(orNull(count), ({ tokens }) => tokens?.output ?? null),
  cache_read_input_tokens: seenBy.everyone(orNull(count), (of) => of.tokens?.cacheRead ?? null),
  cache_creation_input_tokens: seenBy.everyone(
    orNull(count),
    (of) => of.tokens?.cacheWrite ?? null,
  ),
  charged_usd: seenBy.everyone(orNull(usd), ({ charge }) =>
    charge === undefined ? null : formatUsd(charge),
  ),
  upstream_request_id: seenBy.everyone(orNull(text), (of) => of.upstreamRequestId ?? null),
  trace_id: seenBy.everyone(orNull(text), ({ traceId }) => traceId ?? null),
  client: seenBy.everyone(orNull(text), ({ client }) => client ?? null),
  session: seenBy.everyone(orNull(text), ({ sessionId }) => sessionId ?? null),
  tag: seenBy.everyone(orNull(text), ({ tag }) => tag ?? null),
  account_name: seenBy.operators(addedName, () => undefined),
  key_name: seenBy.operators(addedName, () => undefined),
  upstream_account: seenBy.operators(orNull(text), (of) => of.upstreamAccount ?? null),
  upstream_status: seenBy.operators(orNull(z.int()), (of) => of.upstreamStatus ?? null),
  fault: seenBy.operators(orNull(text), ({ fault }) => fault ?? null),
};

/** A recorded request, as its customer sees it. */
export const { schema: recordedRequest, view: requestView } = viewFor('holders', requestMembers, {
  id: 'RecordedRequest',
});

export const { schema: operatorRecordedRequest, view: operatorRequestView } = viewFor(
  'operators',
  requestMembers,
  { id: 'OperatorRecordedRequest' },
);

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
