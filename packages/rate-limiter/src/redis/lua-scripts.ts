/**
 * The same decisions as `../admission.ts` and `../sliding-log.ts`, in Lua.
 *
 * Times are whole microseconds of Redis's own clock, so the clocks of the replicas do not matter.
 * Numbers in Lua are doubles: exact to 2^53, but `tostring` prints 14 digits only, hence `%.0f`.
 * Denials write nothing.
 *
 * Per subject there are three keys: `…:l`, a sorted set of lease ids by the time they expire;
 * `…:g`, the TAT of the burst limit; `…:r`, a sorted set of the events of the sliding log. Each key
 * expires as soon as its contents no longer have an effect. The keys of a subject, of its group and
 * of all other subjects of the group have one hash tag, so that they share a slot of a Redis
 * Cluster.
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

/** The first of the four numbers that {@link ADMIT} returns for each admission. */
export const ADMIT_REPLY = { admitted: 0, deniedConcurrency: 1, deniedRate: 2 } as const;

/**
 * Runs admissions and releases of any number of subjects in the given order.
 *
 * KEYS: leases and TAT of each subject. ARGV: lease TTL in milliseconds; a JSON list with the
 * number of leases that the caller itself holds of each subject; JSON of the steps. A release is
 * `[lease id, subject]`, or `[lease id, subject, group]`. An admission is a lease id, followed by
 * four numbers for the subject and four for its group, if any: subject, concurrency, and in
 * microseconds how long a burst and an admission take to come back. Subjects and groups are
 * numbered together, from 1.
 *
 * Returns for each admission: outcome, index of the limit that denies, wait in microseconds (once
 * admitted, the number of permits that are left), and 1 if Redis found fewer leases than the
 * caller holds, otherwise 0. In that case Redis has lost some, and the caller's own count is used
 * until the leases are put back.
 */
export const ADMIT = script(`${NOW}
local ttl = tonumber(ARGV[1])
local held = cjson.decode(ARGV[2])

local function admit(step)
  local lost, tats, left = 0, {}, math.huge
  for at = 2, #step, 4 do
    local i, concurrency, span, interval = step[at], step[at + 1], step[at + 2], step[at + 3]
    local index = (at - 2) / 4
    local found = redis.call('ZCOUNT', KEYS[2 * i - 1], '(' .. text(now), '+inf')
    if found < held[i] then lost = 1 end
    if math.max(found, held[i]) >= concurrency then return 1, index, 0, lost end

    local start = math.max(tonumber(redis.call('GET', KEYS[2 * i]) or now), now)
    local after = start + interval
    if start > now + span then
      after = now + span
    elseif after > now + span then
      return 2, index, after - now - span, lost
    end
    tats[at] = after
    left = math.min(left, math.floor((now + span - after) / interval))
  end

  for at = 2, #step, 4 do
    local i = step[at]
    local leases = KEYS[2 * i - 1]
    redis.call('SET', KEYS[2 * i], text(tats[at]), 'PX', math.ceil((tats[at] - now) / 1000) + 1)
    redis.call('ZREMRANGEBYSCORE', leases, '-inf', text(now))
    redis.call('ZADD', leases, text(now + ttl * 1000), step[1])
    redis.call('PEXPIRE', leases, ttl)
    held[i] = held[i] + 1
  end
  return 0, 0, left, lost
end

local reply = {}
for _, step in ipairs(cjson.decode(ARGV[3])) do
  if #step < 5 then
    for at = 2, #step do redis.call('ZREM', KEYS[2 * step[at] - 1], step[1]) end
  else
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = admit(step)
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
