/** How one recorded request ended, and all that is recorded of it. */

import type { Sent } from '../api/gateway-types.js';
import { Badge, ExactMoney, Time } from '../controls/parts.js';
import type { Fact } from '../controls/parts.js';
import { OWN_STYLE } from '../text/numbers.js';

type Recorded = Sent<'recordedRequest'>;

export function Status({ of }: { readonly of: Recorded }) {
  const { error_type: type, error_message: message } = of;
  return (
    <>
      <StatusBadge request={of} />
      {type !== null && (
        <span class="when wraps">
          {type}
          {message !== null && `: ${message}`}
        </span>
      )}
    </>
  );
}

/** A word and the number, so that nobody needs the colour. */
function StatusBadge({ request }: { readonly request: Recorded }) {
  const { status, error_type: type, client_left: left, count } = request;
  const { not_recorded_since: since } = request;
  const isRefusal = status >= 400 && status < 500;
  return (
    <>
      {type === null ? (
        <Badge tone="good">OK {status}</Badge>
      ) : (
        <Badge tone={isRefusal ? 'warning' : 'bad'}>
          {left ? 'Left' : isRefusal ? 'Refused' : 'Failed'} {status}
        </Badge>
      )}
      {count > 1 && ` × ${String(count)}`}
      {since !== null && (
        <span class="when">
          not recorded one by one, since <Time iso={since} />
        </span>
      )}
      {left && type === null && <span class="when">the client left</span>}
    </>
  );
}

function standsFor({ count, not_recorded_since: since, ended_at: until }: Recorded) {
  if (since !== null) {
    return `${OWN_STYLE.whole(count)} requests from ${since} to ${until} that were not recorded one by one: tokens and the charge are their sums`;
  }
  return count > 1 ? `${OWN_STYLE.whole(count)} equal refusals` : null;
}

/** All members of the record, in plain words. */
export function factsOf(request: Recorded): readonly Fact[] {
  const count = (of: number | null) => (of === null ? null : OWN_STYLE.whole(of));
  const { first_byte_ms: firstByte, charged_usd: charged, error_message: message } = request;
  return [
    ['Request', request.id],
    ['Ended at', request.ended_at],
    ['Account', request.account_id],
    ['Key', request.key_id],
    ['Model', request.model],
    ['Endpoint', `${request.endpoint}, ${request.streamed ? 'streamed' : 'in one piece'}`],
    ['Status', String(request.status)],
    ['Type of error', request.error_type],
    ['Error, without what it quoted', message],
    ['Stands for', standsFor(request)],
    ['Client', request.client],
    ['Client left', request.client_left ? 'before the end of the response' : null],
    ['Took', `${OWN_STYLE.whole(request.duration_ms)} ms`],
    ['First byte after', firstByte === null ? null : `${OWN_STYLE.whole(firstByte)} ms`],
    ['Input tokens', count(request.input_tokens)],
    ['Output tokens', count(request.output_tokens)],
    ['Tokens read from the cache', count(request.cache_read_input_tokens)],
    ['Tokens written to the cache', count(request.cache_creation_input_tokens)],
    ['Charged', charged === null ? 'nothing' : <ExactMoney usd={charged} />],
    ["Provider's request id", request.upstream_request_id],
    ['Session', request.session],
    ['Tag', request.tag],
    ['Trace', request.trace_id],
  ];
}
