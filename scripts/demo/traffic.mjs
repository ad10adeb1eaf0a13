/**
 * The requests of one customer: sessions of coding agents, whose prompts grow and are cached, and
 * single requests of services. Weekends are quiet, nights more so.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const AGENTS = { 'claude-cli/2.1.8': 6, 'codex_cli_rs/0.61.0': 2, 'opencode/1.0.110': 1 };
const SERVICES = { 'anthropic-python/1.14': 4, 'openai-python/2.9': 3, 'node-fetch': 1 };
const ENDPOINTS = { 'claude-cli/2.1.8': 'messages', 'codex_cli_rs/0.61.0': 'responses' };

/**
 * @returns one request each: `at`, `keyIndex`, `model`, `endpoint`, `usage`, `client`, `sessionId`
 */
export function* trafficOf(customer, random, { days, now }) {
  const { perDay, busy, abuse } = customer;
  if (perDay === undefined) return;
  const since = Math.max(...customer.credits.map(({ daysAgo }) => daysAgo), 0);
  for (let daysAgo = Math.min(days, Math.floor(since)); daysAgo >= 0; daysAgo -= 1) {
    const day = Math.floor(now / DAY_MS) * DAY_MS - daysAgo * DAY_MS;
    const isWeekend = [0, 6].includes(new Date(day).getUTCDay());
    const times = (isWeekend ? 0.25 : 1) * (busy?.daysAgo === daysAgo ? busy.times : 1);
    for (const kind of /** @type {const} */ (['sessions', 'singles'])) {
      const count = Math.floor(perDay[kind] * times + random.next());
      for (let index = 0; index < count; index += 1) {
        const hour = daysAgo < 2 ? random.between(0, 23) : hourOfDay(random);
        const at = day + hour * HOUR_MS + random.between(0, HOUR_MS - 1);
        yield* kind === 'sessions' ? session(customer, random, at) : [single(customer, random, at)];
      }
    }
  }
  for (let index = 0; index < (abuse?.requests ?? 0); index += 1) {
    const at = now - random.between(1, abuse.hours * HOUR_MS);
    yield { ...single(customer, random, at), isAbuse: true };
  }
}

/** Most work is done between 7 and 19 o'clock; the last days have some in each hour. */
function hourOfDay(random) {
  return random.happens(0.85) ? random.between(7, 18) : random.between(0, 23);
}

function* session(customer, random, begin) {
  const client = random.pick(AGENTS);
  const shared = {
    keyIndex: random.between(0, customer.keys.length - 1),
    model: random.pick(customer.models),
    endpoint: ENDPOINTS[client] ?? 'chat.completions',
    client,
    sessionId: `${random.hex(8)}-${random.hex(4)}-4${random.hex(3)}-8${random.hex(3)}-${random.hex(12)}`,
    streamed: true,
  };
  let cached = 0;
  let at = begin;
  const requests = random.between(3, 26);
  for (let index = 0; index < requests; index += 1) {
    at += random.around(35_000);
    const written = random.around(index === 0 ? 34_000 : 4_500);
    yield {
      ...shared,
      at,
      usage: usage({
        inputTokens: random.between(3, 40),
        outputTokens: random.around(900),
        cacheReadInputTokens: cached,
        cacheCreationInputTokens: written,
        cacheCreation1hInputTokens: random.happens(0.2) ? written : 0,
      }),
    };
    cached += written;
  }
}

function single(customer, random, at) {
  const client = random.pick(SERVICES);
  return {
    at,
    keyIndex: Math.floor(customer.keys.length * random.next() ** 2),
    model: random.pick(customer.models),
    endpoint: client.startsWith('openai') ? 'chat.completions' : 'messages',
    client,
    sessionId: undefined,
    streamed: random.happens(0.6),
    usage: usage({
      inputTokens: random.around(4_000),
      outputTokens: random.around(700),
      cacheReadInputTokens: random.happens(0.3) ? random.around(20_000) : 0,
    }),
  };
}

function usage(given) {
  return {
    inputTokens: 0,
    outputTokens: 0,
    cacheReadInputTokens: 0,
    cacheCreationInputTokens: 0,
    cacheCreation1hInputTokens: 0,
    ...given,
  };
}
