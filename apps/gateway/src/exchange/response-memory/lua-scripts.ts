/**
 * The scripts of the responses in Redis. All keys have the hash tag `{responses}`, so that a
 * cluster keeps them on one node and a script can read and change them together:
 *
 * - `…:of:<account>`: a sorted set with the responses of an account, by the time when they expire;
 * - `…:all`: the same for all accounts. It is read to subtract what Redis has expired;
 * - `…:shares`: a sorted set with the accounts, by their bytes; `…:bytes`: the bytes of all;
 * - `…:one:<key>:<response>`: a hash with the sealed texts of a response. Redis expires it.
 *
 * In a set, a response is `<account> <key> <response> <bytes>`. Times are milliseconds of Redis's
 * own clock: a replica whose clock is ahead would otherwise expire the responses of all others.
 */

/** The fields of the texts. Those of earlier versions, without a seal, are not read. */
export const SEALED = { conversation: 'sealed_conversation', response: 'sealed_response' } as const;

/** Defines the functions that the scripts share. */
const COMMON = `
local tag = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local function text(number) return string.format('%.3f', number) end
local function account_set(account) return tag .. ':of:' .. account end
local function drop(member)
  local account, key, id, bytes = string.match(member, '^(%S+) (%S+) (%S+) (%d+)$')
  redis.call('ZREM', tag .. ':all', member)
  redis.call('ZREM', account_set(account), member)
  redis.call('DEL', tag .. ':one:' .. key .. ':' .. id)
  if tonumber(redis.call('ZINCRBY', tag .. ':shares', -bytes, account)) <= 0 then
    redis.call('ZREM', tag .. ':shares', account)
  end
  if redis.call('DECRBY', tag .. ':bytes', bytes) <= 0 then redis.call('DEL', tag .. ':bytes') end
end
local function drop_expired()
  local gone = redis.call('ZRANGEBYSCORE', tag .. ':all', '-inf', text(now), 'LIMIT', 0, 1000)
  for _, member in ipairs(gone) do drop(member) end
end
local function drop_one(one)
  local member = redis.call('HGET', one, 'member')
  if not member then return 0 end
  drop(member)
  return 1
end
local function mark(ones, members, ttl)
  if #members == 0 then return end
  for _, one in ipairs(ones) do redis.call('PEXPIRE', one, ttl) end
  local scored = {}
  for _, member in ipairs(members) do
    scored[#scored + 1], scored[#scored + 2] = text(now + ttl), member
  end
  local account = account_set(string.match(members[1], '^%S+'))
  for _, name in ipairs({ account, tag .. ':all' }) do redis.call('ZADD', name, unpack(scored)) end
  -- Longer, so that what has expired can still be subtracted.
  for _, name in ipairs({ account, tag .. ':all', tag .. ':shares', tag .. ':bytes' }) do
    redis.call('PEXPIRE', name, ttl * 2)
  end
end
`;

/**
 * KEYS: tag, response. ARGV: time to live, most bytes, account, member, bytes, sealed conversation,
 * sealed response. Returns 1 if the response is kept.
 */
export const REMEMBER = `${COMMON}
local one = KEYS[2]
local ttl, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local account, member, bytes = ARGV[3], ARGV[4], tonumber(ARGV[5])
drop_expired()
drop_one(one)
if bytes * 2 > most then return 0 end
while tonumber(redis.call('GET', tag .. ':bytes') or 0) + bytes > most do
  local largest = account
  local share = tonumber(redis.call('ZSCORE', tag .. ':shares', account) or 0) + bytes
  local first = redis.call('ZREVRANGE', tag .. ':shares', 0, 0, 'WITHSCORES')
  if first[1] and tonumber(first[2]) > share then largest = first[1] end
  local oldest = redis.call('ZRANGE', account_set(largest), 0, 0)[1]
  if not oldest then return 0 end
  drop(oldest)
end
redis.call('HSET', one, 'member', member, '${SEALED.conversation}', ARGV[6],
  '${SEALED.response}', ARGV[7])
redis.call('ZINCRBY', tag .. ':shares', bytes, account)
redis.call('INCRBY', tag .. ':bytes', bytes)
mark({ one }, { member }, ttl)
return 1
`;

/**
 * KEYS: responses of one account. ARGV: how many of the first are needed. Returns the lengths of
 * the sealed conversation and response of each, 0 if it is missing; it ends at the first that is
 * needed and missing.
 */
export const MEASURE = `
local lengths = {}
for index, one in ipairs(KEYS) do
  local response = redis.call('HSTRLEN', one, '${SEALED.response}')
  if response == 0 and index <= tonumber(ARGV[1]) then break end
  local conversation = response == 0 and 0 or redis.call('HSTRLEN', one, '${SEALED.conversation}')
  lengths[#lengths + 1], lengths[#lengths + 2] = conversation, response
end
return lengths
`;

/**
 * KEYS: tag, responses of one account. ARGV: time to live, names of the texts. Returns a list for
 * each response: with the texts, or an empty one.
 */
export const RECALL = `${COMMON}
drop_expired()
local texts, ones, members = {}, {}, {}
for index = 2, #KEYS do
  local found = redis.call('HMGET', KEYS[index], 'member', unpack(ARGV, 2))
  local member = table.remove(found, 1)
  if member then
    ones[#ones + 1], members[#members + 1] = KEYS[index], member
    texts[index - 1] = found
  else
    texts[index - 1] = {}
  end
end
mark(ones, members, tonumber(ARGV[1]))
return texts
`;

/** KEYS: tag, response. Returns 1 if there was such a response. */
export const FORGET = `${COMMON}
drop_expired()
return drop_one(KEYS[2])
`;

/** KEYS: tag. ARGV: account, and a key or an empty text. */
export const FORGET_ALL = `${COMMON}
for _, member in ipairs(redis.call('ZRANGE', account_set(ARGV[1]), 0, -1)) do
  if ARGV[2] == '' or string.match(member, '^%S+ (%S+)') == ARGV[2] then drop(member) end
end
return 0
`;
