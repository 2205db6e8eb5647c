// Rule: the Lua scripts of the locks. Each script is one atomic step of the engine, and reads the server's
// clock once, at its beginning.
//
// All Redis keys begin with the prefix. The scripts use these keys:
// - token: the last fencing token.
// - place: the last number that a waiter got as its place in a queue.
// - index: the locks with a hold, in the order of their keys.
// - ends: every lock with a hold or a waiter, sorted by the time at which its hold and all its waits have
//   ended.
// - lock:KEY: the hold of the lock KEY.
// - queue:KEY: the waiters of the lock, sorted by place.
// - until:KEY: the waiters of the lock, sorted by the time at which they leave the queue.
// - info:KEY: for each waiter of the lock, the start of its wait and its context.
//
// No key has a time to live, because only the scripts decide what has ended. So a server that evicts only
// keys with a time to live keeps all of these keys.
//
// Law: a new token is the greater of two numbers: the last token plus 1, and the server's clock in
// microseconds (EN2). The last token is lost if the server restarts without its data, or if a replica becomes
// master without the last writes. The clock then still gives a higher token, unless the clock of the new
// master is behind by more than the fail-over took. Without this law: the next holder gets the token of the
// last holder, and a system that compares tokens lets both holders write.

import { createHash } from 'node:crypto'
import { FULL_QUEUE } from './outcome-of-redis-error.js'

export interface Script {
  readonly source: string
  readonly sha: string
}

/**
 * In ms. The scripts keep the keys of a lock for at least this time after its hold and its waits have ended.
 * As long as the keys exist, a late release gets the answer EXPIRED, and later the answer NOT_HELD.
 */
const KEPT = 60 * 60 * 1000
/** One run of the script `take` deletes the keys of at most this many ended locks, after their time KEPT. */
const RECLAIMED = 2
/**
 * One run of `take` removes at most this many waiters that have stopped asking, from any place in the queue.
 * At the head of the queue, the Lua function `first` removes any number of such waiters.
 */
const REMOVED = 100
/** How many locks of the index a query reads with one command. */
const PAGE = 1000

/** `offset` is a Lua expression for the microseconds to add to the clock. Only tests add an offset. */
const head = (offset: string) => `
local p = ARGV[1]
local t = redis.call('TIME')
local micros = t[1] * 1000000 + t[2] + (${offset})
local now = math.floor(micros / 1000)
local function text(n) return string.format('%.0f', n) end
local function hold_of(key)
  local r = redis.call('HMGET', p .. 'lock:' .. key, 'id', 'token', 'deadline', 'acquires', 'since', 'kind', 'context')
  if not r[1] then return nil end
  return { id = r[1], token = tonumber(r[2]), deadline = tonumber(r[3]), acquires = tonumber(r[4]),
    since = tonumber(r[5]), kind = r[6], context = r[7] }
end
local function in_force(hold) return hold ~= nil and now <= hold.deadline end
local function keep_until(key, at)
  local is = tonumber(redis.call('ZSCORE', p .. 'ends', key) or '0')
  if at > is then redis.call('ZADD', p .. 'ends', text(at), key) end
end
local function put(key, h)
  redis.call('HSET', p .. 'lock:' .. key, 'id', h.id, 'token', text(h.token), 'deadline', text(h.deadline),
    'acquires', text(h.acquires), 'since', text(h.since), 'kind', h.kind, 'context', h.context)
  redis.call('ZADD', p .. 'index', 0, key)
  keep_until(key, h.deadline)
end
local function next_token(given)
  if given ~= '' then return tonumber(given) end
  local token = math.max(tonumber(redis.call('GET', p .. 'token') or '0') + 1, micros)
  redis.call('SET', p .. 'token', text(token))
  return token
end
`

const WAITERS = `
local function leave(key, id)
  redis.call('ZREM', p .. 'queue:' .. key, id)
  redis.call('ZREM', p .. 'until:' .. key, id)
  redis.call('HDEL', p .. 'info:' .. key, id)
end
local function is_patient(key, id)
  local till = redis.call('ZSCORE', p .. 'until:' .. key, id)
  return till and now <= tonumber(till)
end
local function first(key)
  while true do
    local id = redis.call('ZRANGE', p .. 'queue:' .. key, 0, 0)[1]
    if not id then return nil end
    if is_patient(key, id) then return id end
    leave(key, id)
  end
end
local function wake(key)
  local id = first(key)
  if id then redis.call('PUBLISH', p .. 'wake', id) end
  return id
end
local function finish(key)
  redis.call('DEL', p .. 'lock:' .. key)
  redis.call('ZREM', p .. 'index', key)
  if not wake(key) then redis.call('ZREM', p .. 'ends', key) end
end
local function answer(hold)
  if not hold then return {} end
  return { hold.id, hold.token, hold.deadline, hold.acquires, hold.kind, hold.context }
end
`

const TAKE = `
local key, id, lease, kind, context = ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6]
local queues, patience, before, most, given = ARGV[7] == '1', tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10]), ARGV[11]
if now > before then return { now, 'LATE', 0, -1, {} } end
for _, old in ipairs(redis.call('ZRANGEBYSCORE', p .. 'ends', '-inf', text(now - ${KEPT}), 'LIMIT', 0, ${RECLAIMED})) do
  redis.call('DEL', p .. 'lock:' .. old, p .. 'queue:' .. old, p .. 'until:' .. old, p .. 'info:' .. old)
  redis.call('ZREM', p .. 'index', old)
  redis.call('ZREM', p .. 'ends', old)
end
local h = hold_of(key)
local held = in_force(h)
if held and h.id == id then
  h.deadline, h.acquires = math.max(h.deadline, now + lease), h.acquires + 1
  if kind ~= '0' then h.kind, h.context = kind, context end
  put(key, h)
  return { now, 'REENTRANT', 0, -1, answer(h) }
end
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', p .. 'until:' .. key, '-inf', '(' .. text(now), 'LIMIT', 0, ${REMOVED})) do
  leave(key, gone)
end
local head = first(key)
if not held and (not head or head == id) then
  if head == id then leave(key, id) end
  local code = h and 'NEW_ACQUIRE' or 'FIRST_TIME'
  h = { id = id, token = next_token(given), deadline = now + lease, acquires = 1, since = now, kind = kind, context = context }
  put(key, h)
  return { now, code, 0, -1, answer(h) }
end
if queues then
  if not redis.call('ZSCORE', p .. 'until:' .. key, id) then
    if redis.call('ZCARD', p .. 'queue:' .. key) >= most then
      return redis.error_reply('${FULL_QUEUE} too many wait for this lock')
    end
    redis.call('ZADD', p .. 'queue:' .. key, redis.call('INCR', p .. 'place'), id)
    redis.call('HSET', p .. 'info:' .. key, id, text(now) .. ':' .. kind .. ':' .. context)
  end
  redis.call('ZADD', p .. 'until:' .. key, text(now + patience), id)
  keep_until(key, now + patience)
end
local again = -1
if held and first(key) == id then again = h.deadline + 1 - now end
return { now, 'HELD', queues and 1 or 0, again, held and answer(h) or {} }
`

/** The arguments are triples of key, id and lease. */
const RENEW = `
local holds = {}
for i = 2, #ARGV, 3 do
  local key, h = ARGV[i], hold_of(ARGV[i])
  if in_force(h) and h.id == ARGV[i + 1] then
    h.deadline = math.max(h.deadline, now + tonumber(ARGV[i + 2]))
    put(key, h)
    holds[#holds + 1] = answer(h)
  else
    holds[#holds + 1] = {}
  end
end
return { now, holds }
`

const RELEASE = `
local key, id, all = ARGV[2], ARGV[3], ARGV[4] == '1'
local h = hold_of(key)
if not h then return { now, 'NOT_HELD', {} } end
if not in_force(h) then return { now, h.id == id and 'EXPIRED' or 'NOT_HELD', answer(h) } end
if h.id ~= id then return { now, 'NOT_OWNER', answer(h) } end
if not all and h.acquires > 1 then
  h.acquires = h.acquires - 1
  put(key, h)
  return { now, 'DECREMENTED', answer(h) }
end
finish(key)
return { now, 'RELEASED', answer(h) }
`

/** The arguments are pairs of key and id. */
const CANCEL = `
local tokens = {}
for i = 2, #ARGV, 2 do
  local key, id = ARGV[i], ARGV[i + 1]
  local h = hold_of(key)
  local token = 0
  leave(key, id)
  if in_force(h) and h.id == id then
    token = h.token
    finish(key)
  elseif not in_force(h) and not wake(key) and not h then
    redis.call('ZREM', p .. 'ends', key)
  end
  tokens[#tokens + 1] = token
end
return { now, tokens }
`

const ROTATE = `
local key, h = ARGV[2], hold_of(ARGV[2])
if not in_force(h) or h.id ~= ARGV[3] then return { now, {} } end
h.token = next_token(ARGV[4])
put(key, h)
return { now, answer(h) }
`

const FORCE_RELEASE = `
local key, h = ARGV[2], hold_of(ARGV[2])
if not in_force(h) or h.token ~= tonumber(ARGV[3]) then return { now, 0 } end
finish(key)
return { now, 1 }
`

const QUERY = `
local low, high, is_key, queue, most = ARGV[2], ARGV[3], ARGV[4] == '1', ARGV[5] == '1', tonumber(ARGV[6])
local rows = {}
local function waiters_of(key)
  local list = {}
  for _, id in ipairs(redis.call('ZRANGE', p .. 'queue:' .. key, 0, -1)) do
    local since, kind, context = string.match(redis.call('HGET', p .. 'info:' .. key, id) or '', '^(%d+):(%d):(.*)$')
    if since and is_patient(key, id) then list[#list + 1] = { id, kind, context, math.max(0, now - tonumber(since)) } end
  end
  return list
end
local function add(key)
  local h = hold_of(key)
  if not in_force(h) then return end
  local waiters = redis.call('ZCOUNT', p .. 'until:' .. key, text(now), '+inf')
  rows[#rows + 1] = { key, h.id, h.kind, h.context, h.token, h.acquires, h.deadline - now, waiters,
    math.max(0, now - h.since), queue and waiters_of(key) or {} }
end
if is_key then
  add(low)
else
  local offset = 0
  while #rows < most do
    local page = redis.call('ZRANGEBYLEX', p .. 'index', low, high, 'LIMIT', offset, ${PAGE})
    for _, key in ipairs(page) do if #rows < most then add(key) end end
    if #page < ${PAGE} then break end
    offset = offset + ${PAGE}
  end
end
return { now, rows }
`

const bodies = {
  take: TAKE,
  renew: RENEW,
  release: RELEASE,
  cancel: CANCEL,
  rotate: ROTATE,
  forceRelease: FORCE_RELEASE,
  query: QUERY,
  time: 'return { now }',
}

export type Scripts = Readonly<Record<keyof typeof bodies, Script>>

export function scriptsOf(offset = '0'): Scripts {
  const script = (body: string): Script => {
    const source = head(offset) + WAITERS + body
    return { source, sha: createHash('sha1').update(source).digest('hex') }
  }
  const made = Object.entries(bodies).map(([name, body]) => [name, script(body)] as const)
  return Object.fromEntries(made) as unknown as Scripts
}
