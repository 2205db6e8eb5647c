// Rule: the one table of HTTP routes. Routing, the checks of query and body, the rights, the answers 404 and
// 405, and the OpenAPI document are made from it.
// long: the routes read as one table

import type { Right } from '../member/rights.js'
import { ANSWERS, BODIES, PARAMETERS, type RouteBody, type Schema } from './route-schemas.js'

export type Method = 'GET' | 'PUT' | 'POST' | 'DELETE'

export interface Route {
  readonly method: Method
  /** At most one part of it is in braces. */
  readonly path: string
  /** The name of the route in the figures; several routes may share one. */
  readonly figure: string
  /**
   * The right that the route needs at least; the store checks the exact rights. 'any': a known caller.
   * undefined: no token.
   */
  readonly right: Right | 'any' | undefined
  readonly summary: string
  /** The known query parameters; undefined: any are allowed and ignored, as probes add them. */
  readonly query?: Readonly<Record<string, Schema>>
  readonly headers?: readonly string[]
  readonly body?: RouteBody
  /** The schema of a successful JSON answer, or the media type of another one. */
  readonly answer: Schema | string
  /** The answers besides the ones that every route has. */
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
const GUARDED = ['Latchkey-Guard', 'Idempotency-Key']
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

export const ROUTES = {
  page: {
    method: 'GET',
    path: '/',
    figure: 'page',
    right: undefined,
    summary: 'A page for people. It asks for a token where the member has tokens.',
    answer: 'text/html',
    statuses: [404],
  },
  pageFile: {
    method: 'GET',
    path: '/page/{file}',
    figure: 'page',
    right: undefined,
    summary: 'A script, a style sheet or an image of the page.',
    answer: 'text/javascript',
    statuses: [404],
  },
  livez: {
    method: 'GET',
    path: '/livez',
    figure: 'livez',
    right: undefined,
    summary: 'Whether the process turns.',
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
    summary: 'Figures for Prometheus.',
    answer: 'text/plain',
  },
  status: {
    method: 'GET',
    path: '/status',
    figure: 'status',
    ...READ,
    summary: 'What this member knows of the cluster.',
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
    summary: 'Who the caller is to this member, and what it may do.',
    query: {},
    answer: ANSWERS.identity,
  },
  transferLeadership: {
    method: 'POST',
    path: '/v1/members:transferLeadership',
    figure: 'members',
    right: 'admin',
    summary: 'Moves the leadership to a member, or to the one that lags least.',
    query: { timeout },
    body: BODIES.transferLeadership,
    answer: '',
    statuses: [409],
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
  endSession: {
    method: 'POST',
    path: '/v1/sessions/{id}:end',
    figure: 'sessions',
    right: 'admin',
    summary: 'Ends a session: its waiters leave their queues; its holds stay until their leases are over.',
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
    summary: 'The values of several keys, all of one moment.',
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
    summary: 'Adds to a whole number.',
    query: { timeout },
    headers: GUARDED,
    body: BODIES.increment,
    answer: ANSWERS.number,
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
    summary:
      'The steps of "then" if all conditions of "when" are true, else those of "else": one atomic step.',
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
    summary: 'The locks that are held, by whom, and who waits.',
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
  getLock: {
    method: 'GET',
    path: '/v1/locks/{key}',
    figure: 'lock',
    ...READ,
    summary: 'Who holds the lock.',
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
    summary: 'The last changes of one lock that this member remembers since it was started, in their order.',
    query: { limit: PARAMETERS.limit, timeout },
    answer: ANSWERS.history,
  },
  acquireLock: {
    method: 'POST',
    path: '/v1/locks/{key}:acquire',
    figure: 'lock verb',
    ...WRITE,
    summary: 'Acquires the lock under an id of the caller; waits in the queue if "wait" is given.',
    query: { timeout },
    headers: ['Idempotency-Key'],
    body: BODIES.acquire,
    answer: ANSWERS.hold,
    statuses: [409],
  },
  renewLock: hold('/v1/locks/{key}:renew', 'lock verb', 'Begins the lease anew.', true),
  releaseLock: hold('/v1/locks/{key}:release', 'lock verb', 'Releases the lock.', false),
  forceReleaseLock: {
    method: 'POST',
    path: '/v1/locks/{key}:forceRelease',
    figure: 'lock verb',
    ...WRITE,
    summary: 'Takes the lock from its holder, who is not asked.',
    query: { timeout },
    body: BODIES.forceRelease,
    answer: ANSWERS.forced,
  },
  listSemaphores: {
    method: 'GET',
    path: '/v1/semaphores',
    figure: 'lock list',
    ...READ,
    summary: 'The permits that are out, and who waits.',
    query: { ...NAMES, after: PARAMETERS.after, limit: PARAMETERS.limit },
    answer: ANSWERS.semaphores,
  },
  acquirePermits: {
    method: 'POST',
    path: '/v1/semaphores/{name}:acquire',
    figure: 'semaphore verb',
    ...WRITE,
    summary: 'Acquires permits of a semaphore.',
    query: { timeout },
    headers: ['Idempotency-Key'],
    body: BODIES.acquirePermits,
    answer: ANSWERS.hold,
    statuses: [409],
  },
  renewPermits: hold('/v1/semaphores/{name}:renew', 'semaphore verb', 'Begins the lease anew.', true),
  releasePermits: hold(
    '/v1/semaphores/{name}:release',
    'semaphore verb',
    'Gives the permits of that id back.',
    false,
  ),
  createLatch: {
    ...latch(':create', 'Makes a latch that opens when it has been counted down that often.'),
    body: BODIES.createLatch,
    answer: ANSWERS.created,
  },
  countDown: {
    ...latch(':countDown', 'Counts a latch down. Send it once: a second request counts again.'),
    body: BODIES.countDown,
    answer: ANSWERS.left,
    statuses: [409],
  },
  waitForLatch: {
    ...latch(':wait', 'Answers when the latch is open; waits for `timeout` at the most.'),
    answer: ANSWERS.open,
    statuses: [409],
  },
  removeLatch: {
    ...latch('', 'Removes a latch; who waits for it is refused.'),
    method: 'DELETE',
    answer: '',
    statuses: [404],
  },
  enterBarrier: {
    method: 'POST',
    path: '/v1/barriers/{name}:enter',
    figure: 'barrier verb',
    ...WRITE,
    summary: 'Waits until so many parties have come, for `timeout` at the most; who hangs up leaves.',
    query: { timeout },
    body: BODIES.enterBarrier,
    answer: ANSWERS.entered,
    statuses: [409],
  },
  getLeader: {
    method: 'GET',
    path: '/v1/elections/{name}',
    figure: 'election',
    ...READ,
    summary: 'Who leads, and what the leader says.',
    query: { as: PARAMETERS.as, timeout },
    answer: ANSWERS.leader,
    statuses: [404],
  },
  observe: {
    method: 'GET',
    path: '/v1/elections/{name}:observe',
    figure: 'watch',
    ...READ,
    summary: 'Changes of the leadership as server-sent events, beginning with what is.',
    query: { as: PARAMETERS.as },
    answer: EVENTS,
  },
  campaign: {
    method: 'POST',
    path: '/v1/elections/{name}:campaign',
    figure: 'election verb',
    ...WRITE,
    summary: 'Leads, or waits for it if "wait" is given.',
    query: { timeout },
    headers: ['Idempotency-Key'],
    body: BODIES.campaign,
    answer: ANSWERS.hold,
    statuses: [409],
  },
  renewLeadership: hold('/v1/elections/{name}:renew', 'election verb', 'Begins the lease anew.', true),
  proclaim: {
    method: 'POST',
    path: '/v1/elections/{name}:proclaim',
    figure: 'election verb',
    ...WRITE,
    summary: 'Says something else to observers.',
    query: { timeout },
    body: BODIES.proclaim,
    answer: ANSWERS.hold,
    statuses: [409],
  },
  resign: hold('/v1/elections/{name}:resign', 'election verb', 'Gives the leadership to the next.', false),
} as const satisfies Readonly<Record<string, Route>>

export type RouteId = keyof typeof ROUTES
export const ROUTE_IDS = Object.keys(ROUTES) as readonly RouteId[]
export const routeAt = (id: RouteId): Route => ROUTES[id]
export const isStream = (route: Route): boolean => route.answer === EVENTS
