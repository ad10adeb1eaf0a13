/**
 * The same decisions as `../admission.ts` and `../sliding-log.ts`, in Lua.
 *
 * Times are whole microseconds of Redis's own clock, so the clocks of the replicas do not matter.
 * Numbers in Lua are doubles: exact to 2^53, but `tostring` prints 14 digits only, hence `%.0f`.
 * Denials write nothing.
 *
 * Per subject there are three keys with one hash tag, so that they share a slot of a Redis Cluster:
 * `…:l`, a sorted set of lease ids by the time they expire; `…:g`, the TAT of the burst limit;
 * `…:r`, a sorted set of the events of the sliding log. Each key expires as soon as its contents no
 * longer have an effect.
 */

import { createHash } from 'node:crypto';

export interface Script {
  readonly source: string;
  readonly sha: string;
}

function script(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function text(number) return string.format('%.0f', number) end
`;

/** The first of the three numbers that {@link ADMIT} returns for each admission. */
export const ADMIT_REPLY = { admitted: 0, deniedConcurrency: 1, deniedRate: 2 } as const;

/**
 * Runs admissions and releases of any number of subjects in the given order.
 *
 * KEYS: leases and TAT of each subject. ARGV: lease TTL in milliseconds; a JSON list with the
 * number of leases that the caller itself holds of each subject; JSON of the steps, `[subject,
 * concurrency, burst, permit interval in microseconds, lease id]` for an admission and `[subject,
 * lease id]` for a release. Subjects are numbered from 1.
 *
 * Returns for each admission: outcome, wait in microseconds, number of leases found. If Redis found
 * fewer leases than the caller holds, it has lost some. The caller's own count is then used until
 * the leases are put back.
 */
export const ADMIT = script(`${NOW}
local ttl = tonumber(ARGV[1])
local held = cjson.decode(ARGV[2])

local function admit(i, concurrency, burst, interval, id)
  local leases, tatKey = KEYS[2 * i - 1], KEYS[2 * i]
  local found = redis.call('ZCOUNT', leases, '(' .. text(now), '+inf')
  if math.max(found, held[i]) >= concurrency then return 1, 0, found end

  local span = burst * interval
  local tat = tonumber(redis.call('GET', tatKey) or now)
  local start = math.max(tat, now)
  local after = start + interval
  if start > now + span then
    after = now + span
  elseif after > now + span then
    return 2, after - now - span, found
  end

  redis.call('SET', tatKey, text(after), 'PX', math.ceil((after - now) / 1000) + 1)
  redis.call('ZREMRANGEBYSCORE', leases, '-inf', text(now))
  redis.call('ZADD', leases, text(now + ttl * 1000), id)
  redis.call('PEXPIRE', leases, ttl)
  held[i] = held[i] + 1
  return 0, 0, found
end

local reply = {}
for _, step in ipairs(cjson.decode(ARGV[3])) do
  if #step == 2 then
    redis.call('ZREM', KEYS[2 * step[1] - 1], step[2])
  else
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3] = admit(step[1], step[2], step[3], step[4], step[5])
  end
end
return reply
`);

/**
 * KEYS: leases. ARGV: lease TTL in milliseconds, lease ids. Prolongs the leases and puts back those
 * that Redis has lost, so that streams which run through a flush or a failover count again.
 */
export const ASSERT_LEASES = script(`${NOW}
local lapses = text(now + ARGV[1] * 1000)
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], lapses, ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return #ARGV - 1
`);

/** KEYS: leases. Returns how many leases there are. */
export const COUNT_LEASES = script(`${NOW}
return redis.call('ZCOUNT', KEYS[1], '(' .. text(now), '+inf')
`);

/**
 * KEYS: log. ARGV: limit, window in milliseconds, event id. Returns {0, remaining} or {1, wait in
 * microseconds}.
 */
export const RECORD = script(`${NOW}
local limit, window = tonumber(ARGV[1]), ARGV[2] * 1000
local blocking = redis.call('ZREVRANGEBYSCORE', KEYS[1], text(now), '-inf', 'WITHSCORES',
  'LIMIT', limit - 1, 1)
if blocking[2] and tonumber(blocking[2]) > now - window then
  return {1, tonumber(blocking[2]) + window - now}
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(now - window))
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. text(now), '+inf')
redis.call('ZADD', KEYS[1], text(now), ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {0, limit - redis.call('ZCARD', KEYS[1])}
`);
