/** Which requests of the demo fail, and as what the record of requests shows them. */

const HOUR_MS = 3_600_000;

/** The first upstream account was overloaded for some hours, two days ago. */
const OUTAGE = { hoursAgo: 48, hours: 3 };

/** @returns why the request fails; `isSent`: it reached the upstream. `undefined`: it succeeds */
export function failureOf({ at, isAbuse }, { standing, upstreamAccount, random, now }) {
  if (standing !== 'active') return USED_UP;
  if (isAbuse && random.happens(0.7)) return TOO_MANY;
  const outage = now - OUTAGE.hoursAgo * HOUR_MS;
  const isOut = at > outage && at < outage + OUTAGE.hours * HOUR_MS;
  if (isOut && upstreamAccount === 'primary' && random.happens(0.6)) return OVERLOADED;
  const kind = random.pick({ '': 970, overloaded: 8, refused: 12, broken: 4, limited: 6 });
  return { overloaded: OVERLOADED, refused: INVALID, broken: BROKEN, limited: TOO_MANY }[kind];
}

const USED_UP = {
  isSent: false,
  status: 402,
  errorType: 'billing_error',
  errorMessage: 'the balance of this account is used up',
};
const TOO_MANY = {
  isSent: false,
  status: 429,
  errorType: 'rate_limit_error',
  errorMessage: 'this key may send 60 requests per minute',
};
const OVERLOADED = {
  isSent: true,
  status: 529,
  errorType: 'overloaded_error',
  errorMessage: 'the upstream is overloaded',
  upstreamStatus: 429,
  fault: 'the upstream refused with 429',
};
const INVALID = {
  isSent: true,
  status: 400,
  errorType: 'invalid_request_error',
  errorMessage: 'max_tokens: must be at most 128000',
  upstreamStatus: 400,
};
const BROKEN = {
  isSent: true,
  status: 502,
  errorType: 'api_error',
  errorMessage: 'the upstream answered with an error',
  upstreamStatus: 500,
  fault: 'the upstream answered with 500',
};
