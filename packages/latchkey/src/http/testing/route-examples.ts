// Rule: one example request for each HTTP route, for tests that send all these requests.

import { isStream, ROUTE_IDS, type RouteId, routeAt } from '../route-table.js'

interface RouteExample {
  readonly id: RouteId
  readonly method: string
  /** The method and the path, as in the table of routes. */
  readonly route: string
  path(at: string): string
  body?(at: string): string
  /** True if the answer ends only when the caller disconnects. */
  readonly isStream: boolean
}

const QUERIES: Partial<Record<RouteId, (at: string) => string>> = {
  listKeys: (at) => `prefix=${encodeURIComponent(at)}`,
  watch: (at) => `prefix=${encodeURIComponent(at)}`,
  listLocks: (at) => `prefix=${encodeURIComponent(at)}`,
  watchLocks: (at) => `prefix=${encodeURIComponent(at)}`,
  listLatches: (at) => `prefix=${encodeURIComponent(at)}`,
  listBarriers: (at) => `prefix=${encodeURIComponent(at)}`,
  listSemaphores: (at) => `prefix=${encodeURIComponent(at)}`,
}

const hold = { id: 'example', fencingToken: 1 }
const ask = { id: 'example', lease: '10s' }
const put = (at: string) => [{ type: 'put', key: `${at}h`, value: { text: 'v' } }]
const BODIES: Partial<Record<RouteId, (at: string) => object | string>> = {
  putKey: () => 'v',
  increment: () => ({}),
  openSession: () => ({}),
  getMany: (at) => ({ keys: [`${at}h`] }),
  batch: (at) => ({ ops: put(at) }),
  txn: (at) => ({ when: [{ key: `${at}h`, field: 'version', is: '>', value: 0 }], then: put(at) }),
  touchKey: () => ({ ttl: '1h' }),
  nextSequence: () => ({}),
  acquireLock: () => ask,
  acquireLocks: (at) => ({ id: 'example-set', keys: [`${at}h`, `${at}i`] }),
  renewLocks: (at) => ({ id: 'example-set', locks: [{ key: `${at}i`, fencingToken: 1 }] }),
  releaseLocks: (at) => ({ id: 'example-set', keys: [`${at}h`, `${at}i`] }),
  rotateLock: () => hold,
  downgradeLock: () => hold,
  resizeSemaphore: () => ({ of: 2 }),
  renewLock: () => hold,
  releaseLock: () => hold,
  transferLeadership: () => ({ to: 'nobody' }),
  forceReleaseLock: () => ({ fencingToken: 1 }),
  acquirePermits: () => ({ ...ask, of: 2 }),
  createLatch: () => ({ count: 1 }),
  enterBarrier: () => ({ parties: 1 }),
  renewPermits: () => hold,
  releasePermits: () => hold,
  campaign: () => ({ ...ask, value: { text: 'here' } }),
  renewLeadership: () => hold,
  proclaim: () => ({ ...hold, value: { text: 'there' } }),
  resign: () => hold,
}
/** Returns the name in the path. `increment` needs a key of its own, because its value must be a number. */
const nameOf = (id: RouteId, at: string) =>
  FIXED[id] ?? encodeURIComponent(`${at}${id === 'increment' ? 'c' : 'h'}`)
/** The last part of paths that do not end with a key. No session has the id 1. */
const FIXED: Partial<Record<RouteId, string>> = { pageFile: 'console.css', endSession: '1' }

export const ROUTE_EXAMPLES: readonly RouteExample[] = ROUTE_IDS.flatMap((id) => {
  const { method, path, right } = routeAt(id)
  const query = QUERIES[id]
  const body = BODIES[id]
  const example: RouteExample = {
    id,
    method,
    route: path,
    path: (at) =>
      path.replace(/\{[a-z]+\}/, () => nameOf(id, at)) + (query === undefined ? '' : `?${query(at)}`),
    isStream: isStream(routeAt(id)),
    ...(body && { body: (at) => textOf(body(at)) }),
  }
  if (method !== 'GET' || example.isStream || right === 'admin') return [example]
  return [example, { ...example, method: 'HEAD' }]
})

const textOf = (body: object | string): string => (typeof body === 'string' ? body : JSON.stringify(body))
