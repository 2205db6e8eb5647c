// Rule: which function serves which route of the table.

import { KIND } from '@latchkey/protocol'
import type { Call, Reply } from './http-ports.js'
import { deleteKey, getKey, increment, putKey } from './kv.js'
import { countDown, createLatch, enterBarrier, removeLatch, waitForLatch } from './latch-routes.js'
import { getMany, listKeys } from './lists.js'
import { listLocks, listSemaphores, lockHistory, observe, watchLock, watchLocks } from './lock-lists.js'
import { forceRelease, type LockDoor, proclaim, showLeader, showLock } from './locks.js'
import { backup, members, openApi, status, transferLeadership, version } from './member-routes.js'
import type { RouteId } from './route-table.js'
import { endSession, identity, listSessions } from './session-routes.js'
import { batch, txn } from './transactions.js'
import { watchKeys } from './watches.js'

/** `key`: the part of the path in braces. */
export type Handler = (call: Call, key: Uint8Array) => Promise<Reply>

/** The routes that the member answers for itself are not here. */
export function handlers(locks: LockDoor): Readonly<Record<Exclude<RouteId, OwnRoute>, Handler>> {
  return {
    status,
    version,
    openapi: openApi,
    members,
    identity,
    transferLeadership,
    listSessions,
    endSession,
    backup,
    listKeys,
    getMany,
    getKey,
    putKey,
    deleteKey,
    increment,
    batch,
    txn,
    watch: watchKeys,
    listLocks,
    watchLocks,
    getLock: showLock,
    watchLock,
    lockHistory,
    acquireLock: locks.acquire,
    renewLock: locks.renew(KIND.lock),
    releaseLock: locks.release(KIND.lock),
    forceReleaseLock: forceRelease,
    listSemaphores,
    acquirePermits: locks.acquirePermits,
    renewPermits: locks.renew(KIND.semaphore),
    releasePermits: locks.release(KIND.semaphore),
    createLatch,
    countDown,
    waitForLatch,
    removeLatch,
    enterBarrier,
    getLeader: showLeader,
    observe,
    campaign: locks.campaign,
    renewLeadership: locks.renew(KIND.election),
    proclaim,
    resign: locks.release(KIND.election),
  }
}

/** Routes of the process itself: probes, figures and the page. */
export type OwnRoute = 'livez' | 'readyz' | 'metrics' | 'page' | 'pageFile'
