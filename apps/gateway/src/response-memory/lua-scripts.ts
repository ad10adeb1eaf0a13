/**
 * The scripts of the responses in Redis. All keys have the hash tag `{responses}`, so that a
 * cluster keeps them on one node and a script can read and change them together:
 *
 * - `…:of:<account>`: a sorted set with the responses of an account, by the time when they expire;
 * - `…:all`: the same for all accounts. It is read to subtract what Redis has expired;
 * - `…:bytes`: a hash with the bytes of each account, and of all (`*`);
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
  for _, name in ipairs({ account, '*' }) do
    if redis.call('HINCRBY', tag .. ':bytes', name, -bytes) <= 0 then
      redis.call('HDEL', tag .. ':bytes', name)
    end
  end
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
  redis.call('PEXPIRE', tag .. ':bytes', ttl * 2)
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
while true do
  local share = tonumber(redis.call('HGET', tag .. ':bytes', account) or 0)
  local used = tonumber(redis.call('HGET', tag .. ':bytes', '*') or 0)
  if share + bytes <= most - used - bytes then break end
  local oldest = redis.call('ZRANGE', account_set(account), 0, 0)[1]
  if not oldest then return 0 end
  drop(oldest)
end
redis.call('HSET', one, 'member', member, 'conversation', ARGV[7], 'response', ARGV[8])
redis.call('HINCRBY', tag .. ':bytes', account, bytes)
redis.call('HINCRBY', tag .. ':bytes', '*', bytes)
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
