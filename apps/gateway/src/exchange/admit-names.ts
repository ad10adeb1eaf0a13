/**
 * Limits what clients have looked up. A body can consist of names of kept responses, and one name
 * costs about as much as the admission of a request. Many names therefore take further permits of
 * the key and of its account.
 */

import type { KeyRecord } from '@gateway/balance-store';
import type { Policy } from '@gateway/rate-limiter';
import { MINUTE_MS } from '../base/times.js';
import { admitWithin, denied, limitsOf } from './admission.js';
import type { LimitedWork, RefusedAdmission } from './admission.js';
import type { ExchangeParts } from './exchange-parts.js';

/** A request with no more names than these takes only the permit that it was admitted with. */
const NAMES_PER_PERMIT = 100;

/**
 * Takes the further permits, all or none; no more than the burst with the first, so that each key
 * can send every request.
 *
 * @returns the refusal, if the key or its account has too few
 */
export async function admitNames(
  names: number,
  key: KeyRecord,
  work: LimitedWork,
  parts: Pick<ExchangeParts, 'limiter' | 'accountLimits'>,
): Promise<RefusedAdmission | undefined> {
  if (names <= NAMES_PER_PERMIT) return undefined;
  const asked = limitsOf(key, work, parts.accountLimits);
  const { subject, limits, account } = asked;
  const further = Math.min(Math.ceil(names / NAMES_PER_PERMIT), limits.burst) - 1;
  if (further < 1) return undefined;
  const admission = await admitWithin(
    {
      subject,
      limits: taking(further, limits),
      account: { ...account, policy: taking(further, account.policy) },
    },
    parts,
  );
  switch (admission.outcome) {
    case 'admitted':
      admission.lease.release();
      return undefined;
    case 'refused':
      return admission;
    case 'denied': {
      // When the request is sent again, it first takes the permit that it is admitted with.
      const retryAfterMs = admission.retryAfterMs + MINUTE_MS / limits.requestsPerMinute;
      return denied({ ...admission, retryAfterMs }, asked, EXPLANATION);
    }
  }
}

const EXPLANATION =
  ` (a request counts once for each ${String(NAMES_PER_PERMIT)} kept responses or calls that it ` +
  'names)';

/** The lease that comes with the permits is given back at once, so it may exceed the limit. */
function taking(permits: number, policy: Policy): Policy {
  const { concurrency, cost = 1 } = policy;
  return { ...policy, concurrency: 2 * concurrency, cost: permits * cost };
}
