// Rule: the table of all HTTP routes. The router, the checks of queries and bodies, the rights, the answers
// 404 and 405, and the OpenAPI document all use this table.
// long: this file is not split, because one table is easier to read than several

import type { Right } from '../member/identity-and-rights.js'
import { ANSWERS, BODIES, PARAMETERS, type RouteBody, type Schema } from './route-schemas.js'

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE'

export interface Route {
  readonly method: Method
  /** One part may be a name in braces, for example {key}. */
  readonly path: string
  /** The name of the route in the metrics. Several routes can have the same name. */
  readonly figure: string
  /**
   * 'any' means every caller with an identity. Undefined means that the route needs no token. The store
   * checks the exact rights of a request.
   */
  readonly right: Right | 'any' | undefined
  readonly summary: string
  /**
   * The allowed query parameters. The routes for health probes have none here and ignore all parameters,
   * because some probes add their own.
   */
  readonly query?: Readonly<Record<string, Schema>>
  readonly headers?: readonly string[]
  /**
   * What a repeated request would do, and what to do instead. A route with this text refuses the header
   * Idempotency-Key. Each other route that changes something honours the header, or a repeated request to this
   * route changes nothing.
   */
  readonly ifRepeated?: string
  readonly body?: RouteBody
  /** The schema of the answer if the answer is JSON. Otherwise the media type of the answer. */
  readonly answer: Schema | string
  /** The statuses that this route may return, besides the statuses that every route may return. */
  readonly statuses?: readonly number[]
}

const READ = { right: 'read' } as const
const WRITE = { right: 'write' } as const
const { consistency, timeout } = PARAMETERS
const RANGE = {
  prefix: PARAMETERS.prefix,
  gte: PARAMETERS.gte,
  lt: PARAMETERS.lt,
}
const NAMES = { prefix: PARAMETERS.prefix, queue: PARAMETERS.queue, timeout }
const ONCE = ['Idempotency-Key']
const GUARDED = ['Latchkey-Guard', ...ONCE]
const CONDITIONAL = ['If-Match', 'If-None-Match', ...GUARDED]
const EVENTS = 'text/event-stream'
const hold = (path: string, figure: string, summary: string, lease: boolean) =>
  ({
    method: 'POST',
    path,
    figure,
    ...WRITE,
    summary,
    query: { timeout },
    body: lease ? BODIES.renew : BODIES.release,
    answer: lease ? ANSWERS.hold : ANSWERS.released,
    statuses: [409],
  }) as const

const latch = (verb: string, summary: string) =>
  ({
    method: 'POST',
    path: `/v1/latches/{name}${verb}`,
    figure: 'latch verb',
    ...WRITE,
    summary,
    query: { timeout },
  }) as const

const ROUTES = {
  page: {
    method: 'GET',
    path: '/',
    figure: 'page',
    right: undefined,
    summary: 'The web console. It asks for a token if the member requires one.',
    answer: 'text/html',
    statuses: [404],
  },
  pageFile: {
    method: 'GET',
    path: '/page/{file}',
    figure: 'page',
    right: undefined,
    summary: 'A script, a style sheet or an image of the web console.',
    answer: 'text/javascript',
    statuses: [404],
  },
  livez: {
    method: 'GET',
    path: '/livez',
    figure: 'livez',
    right: undefined,
    summary: 'Whether the process is alive.',
    answer: 'text/plain',
  },
  readyz: {
    method: 'GET',
    path: '/readyz',
    figure: 'readyz',
    right: undefined,
    summary: 'Whether the member serves calls.',
    answer: 'text/plain',
    statuses: [503],
  },
  metrics: {
    method: 'GET',
    path: '/metrics',
    figure: 'metrics',
    ...READ,
    summary: 'The metrics of the member, for Prometheus.',
    answer: 'text/plain',
  },
  status: {
    method: 'GET',
    path: '/status',
    figure: 'status',
    ...READ,
    summary: 'What this member knows about the cluster.',
    answer: ANSWERS.status,
  },
  version: {
    method: 'GET',
    path: '/version',
    figure: 'version',
    ...READ,
    summary: 'The version of this member.',
    query: {},
    answer: ANSWERS.version,
  },
  openapi: {
    method: 'GET',
    path: '/openapi.json',
    figure: 'openapi',
    ...READ,
    summary: 'This document.',
    query: {},
    answer: ANSWERS.any,
  },
  identity: {
    method: 'GET',
    path: '/v1/identity',
    figure: 'identity',
    right: 'any',
    summary: 'The name of the caller, and its rights.',
    query: {},
    answer: ANSWERS.identity,
  },
  transferLeadership: {
    method: 'POST',
    path: '/v1/members:transferLeadership',
    figure: 'members',
    right: 'admin',
    summary: 'Transfers the leadership to a member. Default: to the member that lags least.',
    query: { timeout },
    body: BODIES.transferLeadership,
    answer: '',
    statuses: [409],
    ifRepeated:
      'A repeated request transfers the leadership again. Send the request without the header, and look with GET /v1/members who leads before you repeat it.',
  },
  listSessions: {
    method: 'GET',
    path: '/v1/sessions',
    figure: 'sessions',
    right: 'admin',
    summary: 'The open sessions of all stores.',
    query: { timeout },
    answer: ANSWERS.sessions,
  },
  openSession: {
    method: 'POST',
    path: '/v1/sessions',
    figure: 'sessions',
    ...WRITE,
    summary:
      'Opens a session, which ends when this connection closes. The holds that were acquired in the session are then released.',
    query: {},
    body: BODIES.openSession,
    answer: EVENTS,
    ifRepeated:
      'A repeated request opens another session. Send the request without the header: the session ends with its connection.',
  },
  endSession: {
    method: 'POST',
    path: '/v1/sessions/{id}:end',
    figure: 'sessions',
    right: 'admin',
    summary: 'Ends a session. Its waiters leave their queues, and its holds stay until their leases end.',
    query: { timeout },
    answer: ANSWERS.ended,
  },
  members: {
    method: 'GET',
    path: '/v1/members',
    figure: 'members',
    ...READ,
    summary: 'The members of the cluster, and who leads.',
    query: { timeout },
    answer: ANSWERS.members,
  },
  backup: {
    method: 'GET',
    path: '/v1/backup',
    figure: 'backup',
    right: 'admin',
    summary: 'A backup of the whole store, as a download for latchkey restore.',
    query: {},
    answer: 'application/octet-stream',
  },
  listKeys: {
    method: 'GET',
    path: '/v1/kv',
    figure: 'kv list',
    ...READ,
    summary: 'The keys of a range in their order, with their values.',
    query: {
      ...RANGE,
      after: PARAMETERS.after,
      limit: PARAMETERS.limit,
      keys_only: PARAMETERS.keysOnly,
      as: PARAMETERS.as,
      consistency,
      timeout,
    },
    answer: ANSWERS.list,
  },
  getMany: {
    method: 'POST',
    path: '/v1/kv:getMany',
    figure: 'kv list',
    ...READ,
    summary: 'The values of several keys at one revision.',
    query: { as: PARAMETERS.as, consistency, timeout },
    body: BODIES.getMany,
    answer: ANSWERS.values,
  },
  getKey: {
    method: 'GET',
    path: '/v1/kv/{key}',
    figure: 'kv',
    ...READ,
    summary: 'The raw value of a key; the ETag is the revision of its last write.',
    query: { consistency, timeout },
    headers: ['If-None-Match'],
    answer: 'application/octet-stream',
    statuses: [304, 404],
  },
  putKey: {
    method: 'PUT',
    path: '/v1/kv/{key}',
    figure: 'kv',
    ...WRITE,
    summary: 'Writes the body as the value of the key.',
    query: { ttl: PARAMETERS.ttl, timeout },
    headers: CONDITIONAL,
    body: { fields: 'bytes' },
    answer: ANSWERS.revision,
    statuses: [409, 412],
  },
  deleteKey: {
    method: 'DELETE',
    path: '/v1/kv/{key}',
    figure: 'kv',
    ...WRITE,
    summary: 'Deletes the key.',
    query: { timeout },
    headers: CONDITIONAL,
    answer: '',
    statuses: [404, 409, 412],
  },
  increment: {
    method: 'POST',
    path: '/v1/kv/{key}:increment',
    figure: 'kv verb',
    ...WRITE,
    summary: 'Adds a number to the value of the key, which is a whole number.',
    query: { timeout },
    headers: GUARDED,
    body: BODIES.increment,
    answer: ANSWERS.number,
    statuses: [409],
  },
  touchKey: {
    method: 'POST',
    path: '/v1/kv/{key}:touch',
    figure: 'kv verb',
    ...WRITE,
    summary: 'Changes the time to live of a key. The value and the revision do not change.',
    query: { timeout },
    headers: GUARDED,
    body: BODIES.touch,
    answer: '',
    statuses: [404, 409],
  },
  getSequence: {
    method: 'GET',
    path: '/v1/sequences/{key}',
    figure: 'sequence',
    ...READ,
    summary: 'The start of the next block of a sequence. 0 if the sequence was never used.',
    query: { consistency, timeout },
    answer: ANSWERS.sequence,
  },
  nextSequence: {
    method: 'POST',
    path: '/v1/sequences/{key}:next',
    figure: 'sequence',
    ...WRITE,
    summary:
      'Takes the next block of numbers. Blocks never overlap. Without an Idempotency-Key, a repeated request takes another block.',
    query: { timeout },
    headers: GUARDED,
    body: BODIES.nextSequence,
    answer: ANSWERS.block,
    statuses: [409],
  },
  resetSequence: {
    method: 'DELETE',
    path: '/v1/sequences/{key}',
    figure: 'sequence',
    ...WRITE,
    summary: 'Resets the sequence to 0.',
    query: { timeout },
    headers: GUARDED,
    answer: '',
    statuses: [409],
  },
  batch: {
    method: 'POST',
    path: '/v1/batch',
    figure: 'txn',
    ...WRITE,
    summary: 'Several writes in one atomic step.',
    query: { timeout },
    headers: GUARDED,
    body: BODIES.batch,
    answer: ANSWERS.batch,
    statuses: [409],
  },
  txn: {
    method: 'POST',
    path: '/v1/txn',
    figure: 'txn',
    ...WRITE,
    summary: 'Applies "then" if all conditions of "when" are true, otherwise "else", in one atomic step.',
    query: { as: PARAMETERS.as, timeout },
    headers: GUARDED,
    body: BODIES.txn,
    answer: ANSWERS.txn,
    statuses: [409],
  },
  watch: {
    method: 'GET',
    path: '/v1/watch',
    figure: 'watch',
    ...READ,
    summary: 'Changes of keys as server-sent events; the id is the revision.',
    query: {
      ...RANGE,
      key: PARAMETERS.key,
      from: PARAMETERS.from,
      initial: PARAMETERS.initial,
      previous: PARAMETERS.previous,
      as: PARAMETERS.as,
    },
    headers: ['Last-Event-ID'],
    answer: EVENTS,
  },
  listLocks: {
    method: 'GET',
    path: '/v1/locks',
    figure: 'lock list',
    ...READ,
    summary: 'The locks that are held, with their holders and waiters.',
    query: { ...NAMES, after: PARAMETERS.after, limit: PARAMETERS.limit },
    answer: ANSWERS.locks,
  },
  watchLocks: {
    method: 'GET',
    path: '/v1/locks:watch',
    figure: 'watch',
    ...READ,
    summary: 'Changes of the locks below a prefix as server-sent events.',
    query: { prefix: PARAMETERS.prefix, renewals: PARAMETERS.renewals },
    answer: EVENTS,
  },
  acquireLocks: {
    method: 'POST',
    path: '/v1/locks:acquireAll',
    figure: 'lock verb',
    ...WRITE,
    summary:
      'Acquires several locks in one step, or no lock. With "wait", the call waits until all are free.',
    query: { timeout },
    headers: ONCE,
    body: BODIES.acquireSet,
    answer: ANSWERS.set,
    statuses: [404, 409],
  },
  renewLocks: {
    method: 'POST',
    path: '/v1/locks:renewAll',
    figure: 'lock verb',
    ...WRITE,
    summary: 'Renews the lease of each lock of a set.',
    query: { timeout },
    body: BODIES.renewSet,
    answer: ANSWERS.set,
    statuses: [409],
  },
  releaseLocks: {
    method: 'POST',
    path: '/v1/locks:releaseAll',
    figure: 'lock verb',
    ...WRITE,
    summary:
      'Releases the locks of a set in one step. If the caller still waits for the set, it leaves the queues.',
    query: { timeout },
    body: BODIES.releaseSet,
    answer: ANSWERS.releasedSet,
  },
  getLock: {
    method: 'GET',
    path: '/v1/locks/{key}',
    figure: 'lock',
    ...READ,
    summary: 'The holder of the lock.',
    query: { timeout },
    answer: ANSWERS.owner,
    statuses: [404],
  },
  watchLock: {
    method: 'GET',
    path: '/v1/locks/{key}:watch',
    figure: 'watch',
    ...READ,
    summary: 'Changes of one lock as server-sent events.',
    query: { renewals: PARAMETERS.renewals },
    answer: EVENTS,
  },
  lockHistory: {
    method: 'GET',
    path: '/v1/locks/{key}:history',
    figure: 'lock',
    ...READ,
    summary: 'The last changes of one lock since the start of this member, in their order.',
    query: { limit: PARAMETERS.limit, timeout },
    answer: ANSWERS.history,
  },
  acquireLock: {
    method: 'POST',
    path: '/v1/locks/{key}:acquire',
    figure: 'lock verb',
    ...WRITE,
    summary:
      'Acquires the lock with an id that the caller chooses. With "wait", the call waits in the queue.',
    query: { timeout },
    headers: ONCE,
    body: BODIES.acquire,
    answer: ANSWERS.hold,
    statuses: [404, 409],
  },
  renewLock: hold('/v1/locks/{key}:renew', 'lock verb', 'Renews the lease.', true),
  releaseLock: hold('/v1/locks/{key}:release', 'lock verb', 'Releases the lock.', false),
  forceReleaseLock: {
    method: 'POST',
    path: '/v1/locks/{key}:forceRelease',
    figure: 'lock verb',
    ...WRITE,
    summary: 'Ends the hold of the lock without asking the holder.',
    query: { timeout },
    body: BODIES.forceRelease,
    answer: ANSWERS.forced,
  },
  rotateLock: {
    ...hold('/v1/locks/{key}:rotate', 'lock verb', 'Gives the hold a new fencing token.', false),
    headers: ONCE,
    answer: ANSWERS.hold,
  },
  downgradeLock: {
    ...hold('/v1/locks/{key}:downgrade', 'lock verb', 'Changes an exclusive hold to a shared hold.', false),
    headers: ONCE,
    answer: ANSWERS.hold,
  },
  listSemaphores: {
    method: 'GET',
    path: '/v1/semaphores',
    figure: 'lock list',
    ...READ,
    summary: 'The permits that are held, with their holders and waiters.',
    query: { ...NAMES, after: PARAMETERS.after, limit: PARAMETERS.limit },
    answer: ANSWERS.semaphores,
  },
  resizeSemaphore: {
    method: 'POST',
    path: '/v1/semaphores/{name}:resize',
    figure: 'semaphore verb',
    ...WRITE,
    summary: 'Sets the number of permits of a semaphore; permits that are held stay held.',
    query: { timeout },
    headers: ONCE,
    body: BODIES.resize,
    answer: '',
    statuses: [409],
  },
  acquirePermits: {
    method: 'POST',
    path: '/v1/semaphores/{name}:acquire',
    figure: 'semaphore verb',
    ...WRITE,
    summary: 'Acquires permits of a semaphore.',
    query: { timeout },
    headers: ONCE,
    body: BODIES.acquirePermits,
    answer: ANSWERS.hold,
    statuses: [404, 409],
  },
  renewPermits: hold('/v1/semaphores/{name}:renew', 'semaphore verb', 'Renews the lease.', true),
  releasePermits: hold(
    '/v1/semaphores/{name}:release',
    'semaphore verb',
    'Releases the permits of that id.',
    false,
  ),
  listLatches: {
    method: 'GET',
    path: '/v1/latches',
    figure: 'latch list',
    ...READ,
    summary: 'The latches, with their remaining counts and the numbers of waiters.',
    query: { prefix: PARAMETERS.prefix, after: PARAMETERS.after, limit: PARAMETERS.limit, timeout },
    answer: ANSWERS.latches,
  },
  createLatch: {
    ...latch(':create', 'Creates a latch, which opens when it has been counted down `count` times.'),
    headers: ONCE,
    body: BODIES.createLatch,
    answer: ANSWERS.created,
    statuses: [409],
  },
  countDown: {
    ...latch(
      ':countDown',
      'Counts a latch down. Without an Idempotency-Key, a repeated request counts again.',
    ),
    headers: ONCE,
    body: BODIES.countDown,
    answer: ANSWERS.left,
    statuses: [409],
  },
  waitForLatch: {
    ...latch(':wait', 'Answers when the latch is open. The call waits for at most `timeout`.'),
    answer: ANSWERS.open,
    statuses: [409],
  },
  removeLatch: {
    ...latch('', 'Removes a latch. Calls that wait for it fail.'),
    method: 'DELETE',
    headers: ONCE,
    answer: '',
    statuses: [404, 409],
  },
  listBarriers: {
    method: 'GET',
    path: '/v1/barriers',
    figure: 'barrier list',
    ...READ,
    summary: 'The barriers at which callers wait.',
    query: { prefix: PARAMETERS.prefix, after: PARAMETERS.after, limit: PARAMETERS.limit, timeout },
    answer: ANSWERS.barriers,
  },
  enterBarrier: {
    method: 'POST',
    path: '/v1/barriers/{name}:enter',
    figure: 'barrier verb',
    ...WRITE,
    summary:
      'Waits until `parties` callers have entered, for at most `timeout`. A caller that disconnects leaves the barrier.',
    query: { timeout },
    body: BODIES.enterBarrier,
    answer: ANSWERS.entered,
    statuses: [409],
    ifRepeated:
      'A repeated request enters the barrier again. Instead, count down a latch with the header, and wait for the latch.',
  },
  getLeader: {
    method: 'GET',
    path: '/v1/elections/{name}',
    figure: 'election',
    ...READ,
    summary: 'The leader of the election, and the value that it publishes.',
    query: { as: PARAMETERS.as, timeout },
    answer: ANSWERS.leader,
    statuses: [404],
  },
  observe: {
    method: 'GET',
    path: '/v1/elections/{name}:observe',
    figure: 'watch',
    ...READ,
    summary: 'Changes of the leadership as server-sent events. The first event is the present state.',
    query: { as: PARAMETERS.as },
    answer: EVENTS,
  },
  campaign: {
    method: 'POST',
    path: '/v1/elections/{name}:campaign',
    figure: 'election verb',
    ...WRITE,
    summary: 'Becomes the leader of the election if it has none. With "wait", the call waits in the queue.',
    query: { timeout },
    headers: ONCE,
    body: BODIES.campaign,
    answer: ANSWERS.hold,
    statuses: [404, 409],
  },
  renewLeadership: hold('/v1/elections/{name}:renew', 'election verb', 'Renews the lease.', true),
  proclaim: {
    method: 'POST',
    path: '/v1/elections/{name}:proclaim',
    figure: 'election verb',
    ...WRITE,
    summary: 'Changes the value that the leader publishes.',
    query: { timeout },
    headers: ONCE,
    body: BODIES.proclaim,
    answer: ANSWERS.hold,
    statuses: [409],
  },
  resign: hold(
    '/v1/elections/{name}:resign',
    'election verb',
    'Ends the leadership. The first waiter becomes the leader.',
    false,
  ),
} as const satisfies Readonly<Record<string, Route>>

export type RouteId = keyof typeof ROUTES
export const ROUTE_IDS = Object.keys(ROUTES) as readonly RouteId[]
export const routeAt = (id: RouteId): Route => ROUTES[id]
export const isStream = (route: Route): boolean => route.answer === EVENTS
