/**
 * The scripts of the responses in Redis. All keys have the hash tag `{responses}`, so that a
 * cluster keeps them on one node and a script can read and change them together:
 *
 * - `…:of:<account>`: a sorted set with the responses of an account, by the time when they expire;
 * - `…:all`: the same for all accounts. It is read to subtract what Redis has expired;
 * - `…:shares`: a sorted set with the accounts, by their bytes; `…:bytes`: the bytes of all;
 * - `…:one:<key>:<response>`: a hash with the texts of a response. Redis expires it.
 *
 * In a set, a response is `<account> <key> <response> <bytes>`.
 */

/** Defines the functions that the scripts share. */
const COMMON = `
local tag = KEYS[1]
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
local function drop_expired(now)
  local gone = redis.call('ZRANGEBYSCORE', tag .. ':all', '-inf', now, 'LIMIT', 0, 1000)
  for _, member in ipairs(gone) do drop(member) end
end
local function drop_one(one)
  local member = redis.call('HGET', one, 'member')
  if not member then return 0 end
  drop(member)
  return 1
end
local function mark(member, one, now, ttl)
  redis.call('ZADD', tag .. ':all', now + ttl, member)
  redis.call('ZADD', account_set(string.match(member, '^%S+')), now + ttl, member)
  for _, name in ipairs({ one, tag .. ':all', account_set(string.match(member, '^%S+')) }) do
    redis.call('PEXPIRE', name, ttl)
  end
  for _, name in ipairs({ ':shares', ':bytes' }) do
    redis.call('PEXPIRE', tag .. name, ttl * 2)
  end
end
`;

/**
 * KEYS: tag, response. ARGV: now, time to live, most bytes, account, member, bytes, conversation,
 * response. Returns 1 if the response is kept.
 */
export const REMEMBER = `${COMMON}
local one = KEYS[2]
local now, ttl, most = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local account, member, bytes = ARGV[4], ARGV[5], tonumber(ARGV[6])
drop_expired(now)
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
redis.call('HSET', one, 'member', member, 'conversation', ARGV[7], 'response', ARGV[8])
redis.call('ZINCRBY', tag .. ':shares', bytes, account)
redis.call('INCRBY', tag .. ':bytes', bytes)
mark(member, one, now, ttl)
return 1
`;

/** KEYS: tag, response. ARGV: now, time to live, names of the texts. Returns the texts. */
export const RECALL = `${COMMON}
local one = KEYS[2]
local now, ttl = tonumber(ARGV[1]), tonumber(ARGV[2])
drop_expired(now)
local member = redis.call('HGET', one, 'member')
if not member then return {} end
mark(member, one, now, ttl)
return redis.call('HMGET', one, unpack(ARGV, 3))
`;

/** KEYS: tag, response. ARGV: now. Returns 1 if there was such a response. */
export const FORGET = `${COMMON}
drop_expired(tonumber(ARGV[1]))
return drop_one(KEYS[2])
`;

/** KEYS: tag. ARGV: account, and a key or an empty text. */
export const FORGET_ALL = `${COMMON}
for _, member in ipairs(redis.call('ZRANGE', account_set(ARGV[1]), 0, -1)) do
  if ARGV[2] == '' or string.match(member, '^%S+ (%S+)') == ARGV[2] then drop(member) end
end
return 0
`;
