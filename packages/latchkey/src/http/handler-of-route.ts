// Rule: connects each route of the table with the function that handles it.

import { KIND } from '@latchkey/protocol'
import type { Call, Reply } from './http-route-dependencies.js'
import { deleteKey, getKey, increment, putKey, touchKey } from './one-key-routes.js'
import {
  countDown,
  createLatch,
  enterBarrier,
  listBarriers,
  listLatches,
  removeLatch,
  waitForLatch,
} from './latch-and-barrier-routes.js'
import { getMany, listKeys } from './read-several-keys-routes.js'
import {
  listLocks,
  listSemaphores,
  lockHistory,
  observe,
  watchLock,
  watchLocks,
} from './lock-list-history-watch-routes.js'
import {
  downgrade,
  forceRelease,
  type LockRoutes,
  proclaim,
  resizeSemaphore,
  rotate,
  showLeader,
  showLock,
} from './lock-semaphore-election-routes.js'
import { backup, members, openApi, status, transferLeadership, version } from './member-and-cluster-routes.js'
import type { RouteId } from './route-table.js'
import { getSequence, nextSequence, resetSequence } from './sequence-routes.js'
import { endSession, identity, listSessions } from './identity-and-session-routes.js'
import { batch, txn } from './batch-and-transaction-routes.js'
import { watchKeys } from './key-watch-route.js'

/**
 * `key` is the decoded part of the path for which the table of routes has a name in braces, such as {key}.
 */
export type Handler = (call: Call, key: Uint8Array) => Promise<Reply>

export function handlers(locks: LockRoutes): Readonly<Record<Exclude<RouteId, OwnRoute>, Handler>> {
  return {
    status,
    version,
    openapi: openApi,
    members,
    identity,
    transferLeadership,
    listSessions,
    openSession: locks.sessions.open,
    endSession,
    backup,
    listKeys,
    getMany,
    getKey,
    putKey,
    deleteKey,
    increment,
    touchKey,
    nextSequence,
    getSequence,
    resetSequence,
    batch,
    txn,
    watch: watchKeys,
    listLocks,
    watchLocks,
    getLock: showLock,
    watchLock,
    lockHistory,
    acquireLocks: locks.sets.acquireAll,
    renewLocks: locks.sets.renewAll,
    releaseLocks: locks.sets.releaseAll,
    acquireLock: locks.acquire,
    renewLock: locks.renew(KIND.lock),
    releaseLock: locks.release(KIND.lock),
    forceReleaseLock: forceRelease,
    rotateLock: rotate,
    downgradeLock: downgrade,
    listSemaphores,
    resizeSemaphore,
    acquirePermits: locks.acquirePermits,
    renewPermits: locks.renew(KIND.semaphore),
    releasePermits: locks.release(KIND.semaphore),
    listLatches,
    createLatch,
    countDown,
    waitForLatch,
    removeLatch,
    listBarriers,
    enterBarrier,
    getLeader: showLeader,
    observe,
    campaign: locks.campaign,
    renewLeadership: locks.renew(KIND.election),
    proclaim,
    resign: locks.release(KIND.election),
  }
}

/** The routes that need no store. request-handler.ts itself answers these routes. */
type OwnRoute = 'livez' | 'readyz' | 'metrics' | 'page' | 'pageFile'
