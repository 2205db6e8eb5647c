// Rule: known bugs of shared locks and of semaphores.

import { binary } from '@latchkey/base'
import type { HoldRow } from '@latchkey/lock'
import { SPACE } from '../../../../../packages/kv/dist/keyspaces.js'
import { inForce } from '../../../../../packages/lock/dist/rules/hold-checks-and-answers.js'
import { remove } from '../../../../../packages/lock/dist/rules/queue.js'
import { during } from '../../run/changed-packages.js'
import type { WholeBug } from './bug.js'
import {
  inAcquire,
  inDeadlockDetection,
  inExpiry,
  inHoldChanges,
  inKeySets,
  inLockReads,
  inLockTables,
  inQueue,
  inScanRows,
} from './product-exports.js'

const nobody = () => undefined

export const sharedLockBugs: readonly WholeBug[] = [
  {
    name: 'a reader overtakes a waiting writer',
    ids: ['K62'],
    changes: [
      inAcquire(
        'tryLock',
        (real) => (tx, session, command) =>
          during(tx, { firstWaiter: nobody }, () => real(tx, session, command)),
      ),
    ],
    workload: 'sharing',
    seeds: 100,
  },
  {
    name: 'a reader gets a lock that a writer holds',
    ids: ['K61'],
    changes: [
      inAcquire('tryLock', (real) => (tx, session, command) => {
        const [, , , , , , , , , share] = command
        const isShared = share !== undefined && share !== null
        return during(tx, isShared ? { hold: nobody } : {}, () => real(tx, session, command))
      }),
    ],
    workload: 'sharing',
    seeds: 100,
  },
  {
    name: 'a writer gets a lock that readers hold',
    ids: ['K61'],
    changes: [
      inKeySets(
        'fits',
        (real) => (tx, key, permits) =>
          permits === 0 ? !inForce(tx.hold(key), tx.now) : real(tx, key, permits),
      ),
    ],
    workload: 'sharing',
    seeds: 100,
  },
  {
    name: 'each request for permits counts as one permit',
    ids: ['K63'],
    changes: [inKeySets('fits', (real) => (tx, key, permits) => real(tx, key, Math.min(permits, 1)))],
    workload: 'sharing',
    seeds: 100,
  },
  {
    name: 'only the first of several waiting readers gets the lock',
    ids: ['K62'],
    changes: [
      inLockTables(
        'StateLockTransaction',
        (Real) =>
          class extends Real {
            /** The keys at which this entry has served a reader. */
            readonly #served = new Set<string>()
            override granted(row: HoldRow) {
              super.granted(row)
              if (row.permits > 0) this.#served.add(binary(row.key))
            }
            override firstWaiter(key: Uint8Array) {
              return this.#served.has(binary(key)) ? undefined : super.firstWaiter(key)
            }
          },
      ),
    ],
    workload: 'sharing',
    seeds: 100,
  },
  {
    name: 'the next waiter gets no lock when a waiter leaves',
    ids: ['K62'],
    changes: [
      inQueue('remove', (real) => (tx, waiter) => {
        real(tx, waiter)
        return []
      }),
      inQueue('leave', () => (tx, waiter) => {
        remove(tx, waiter)
      }),
    ],
    workload: 'sharing',
    seeds: 200,
  },
  {
    name: 'a permit is not free after the end of its lease',
    ids: ['K63'],
    changes: [
      inExpiry('expire', (real) => (tx, unsettled) => {
        const deleteRow = tx.deleteHold.bind(tx)
        const deleteHold = (row: HoldRow) => {
          if (row.permits === 0) deleteRow(row)
        }
        during(tx, { deleteHold }, () => real(tx, unsettled))
      }),
    ],
    workload: 'sharing',
    seeds: 100,
  },
  {
    name: 'a shared token passes every guard',
    ids: ['K61'],
    changes: [inLockReads('isHeldWith', (real) => (view, key, token) => real(view, key, token, true))],
    workload: 'sharing',
    seeds: 100,
  },
  {
    name: 'waiting readers get no lock after a downgrade',
    ids: ['K62'],
    changes: [
      inHoldChanges(
        'downgrade',
        (real) => (tx, key, id, token) => during(tx, { firstWaiter: nobody }, () => real(tx, key, id, token)),
      ),
    ],
    workload: 'sharing',
    seeds: 200,
  },
  {
    name: 'a member loads no shared holds',
    ids: ['K63'],
    changes: [
      inScanRows(
        'rowsOf',
        (real) =>
          async function* (store, space) {
            if (space !== SPACE.shared) yield* real(store, space)
          },
      ),
    ],
    workload: 'sharing',
    seeds: 300,
  },
  {
    name: 'a token from before a rotation still writes',
    ids: ['K64'],
    changes: [
      inLockReads('isHeldWith', (real) => (view, key, token, shared) => {
        const row = view.hold(key)
        const isOlder = row !== undefined && token >= row.firstToken && token <= row.token
        return real(view, key, isOlder ? row.token : token, shared)
      }),
    ],
    workload: 'sharing',
    seeds: 200,
  },
  {
    name: 'a rotation returns the old token',
    ids: ['K64'],
    changes: [
      inHoldChanges(
        'rotate',
        (real) => (tx, key, id, token) =>
          during(tx, { nextToken: () => token }, () => real(tx, key, id, token)),
      ),
    ],
    workload: 'sharing',
    seeds: 200,
  },
  {
    name: 'a set is granted if its first key is free',
    ids: ['K80'],
    changes: [inKeySets('firstConflict', (real) => (tx, set) => real(tx, set.slice(0, 1)))],
    workload: 'sharing',
    seeds: 100,
  },
  {
    name: 'a waiting set gets only one of its keys',
    ids: ['K80'],
    changes: [inKeySets('membersOf', () => (_, one) => [one])],
    workload: 'sharing',
    seeds: 100,
  },
  {
    name: 'every later caller may pass a waiting set',
    ids: ['K81'],
    changes: [
      inKeySets(
        'firstNotPassed',
        () => (tx, key) => [...tx.queueOf(key)].find(({ setCount }) => setCount === 0),
      ),
    ],
    workload: 'sharing',
    seeds: 200,
  },
  {
    name: 'a key that a set kept from others is given to nobody',
    ids: ['K81'],
    changes: [inKeySets('firstNotPassed', () => (tx, key) => tx.firstWaiter(key))],
    workload: 'sharing',
    seeds: 200,
  },
  {
    name: 'the cluster reports no circle of flows',
    ids: ['K83'],
    changes: [inDeadlockDetection('circleOf', () => () => undefined)],
    workload: 'sharing',
    seeds: 300,
  },
  {
    name: 'a circle is reported although the caller could get the lock',
    ids: ['K82'],
    changes: [
      inDeadlockDetection('circleOf', (real) => (tx, session, asks, isSet) => {
        const [asker] = asks
        const isWithin = asker !== undefined && asker.within.length > 0
        return real(tx, session, asks, isSet) ?? (isWithin ? [[asker.id, asker.key]] : undefined)
      }),
    ],
    workload: 'sharing',
    seeds: 300,
  },
]
