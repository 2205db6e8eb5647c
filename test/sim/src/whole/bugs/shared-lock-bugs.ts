// Rule: known bugs of shared locks and of semaphores.

import type * as deadlocks from '../../../../../packages/lock/dist/rules/deadlock-detection.js'
import type * as holdChanges from '../../../../../packages/lock/dist/rules/owner-changes.js'
import type * as lockReads from '../../../../../packages/lock/dist/rules/lock-reads.js'
import type * as waitingKeySets from '../../../../../packages/lock/dist/rules/waiting-key-sets.js'
import { inForce } from '../../../../../packages/lock/dist/rules/lock-answers.js'
import { during, exportsOf, replaced } from '../../run/changed-packages.js'
import { edit, type WholeBug } from './bug.js'

const inWaitingKeySets = exportsOf<typeof waitingKeySets>('lock/rules/waiting-key-sets')

export const sharedLockBugs: readonly WholeBug[] = [
  {
    name: 'a reader overtakes a waiting writer',
    ids: ['K62'],
    changes: [edit('lock/rules/acquire', 'firstNotPassed(tx, ask.key) === undefined && fits', 'fits')],
    profile: 'sharing',
    seeds: 100,
  },
  {
    name: 'a reader gets a lock that a writer holds',
    ids: ['K61'],
    changes: [
      edit('lock/rules/waiting-key-sets', 'if (inForce(tx.hold(key), tx.now)) return false;', ''),
      edit(
        'lock/rules/acquire',
        'if (!isSame(exclusive, ask.id, ask.token)) return refuse(tx, session, ask, exclusive);',
        'if (!isSame(exclusive, ask.id, ask.token) && ask.permits === 0) return refuse(tx, session, ask, exclusive); if (!isSame(exclusive, ask.id, ask.token)) return [take(tx, session, ask, CODE.FIRST_TIME), false];',
      ),
    ],
    profile: 'sharing',
    seeds: 100,
  },
  {
    name: 'a writer gets a lock that readers hold',
    ids: ['K61'],
    changes: [
      inWaitingKeySets(
        'fits',
        (real) => (tx, key, permits) =>
          permits === 0 ? !inForce(tx.hold(key), tx.now) : real(tx, key, permits),
      ),
    ],
    profile: 'sharing',
    seeds: 100,
  },
  {
    name: 'each request for permits counts as one permit',
    ids: ['K63'],
    changes: [inWaitingKeySets('fits', (real) => (tx, key, permits) => real(tx, key, Math.min(permits, 1)))],
    profile: 'sharing',
    seeds: 100,
  },
  {
    name: 'only the first of several waiting readers gets the lock',
    ids: ['K62'],
    changes: [edit('lock/rules/queue', 'if (next.permits === 0) return;', 'return;')],
    profile: 'sharing',
    seeds: 100,
  },
  {
    name: 'the next waiter gets no lock when a waiter leaves',
    ids: ['K62'],
    changes: [
      edit('lock/rules/expiry', 'for (const key of changed) grantNext(tx, key, CODE.FIRST_TIME);', ''),
      edit(
        'lock/rules/queue',
        'for (const key of remove(tx, waiter)) grantNext(tx, key, CODE.FIRST_TIME);',
        'remove(tx, waiter);',
      ),
    ],
    profile: 'sharing',
    seeds: 200,
  },
  {
    name: 'a permit is not free after the end of its lease',
    ids: ['K63'],
    changes: [edit('lock/rules/expiry', 'if (row.permits > 0) tx.deleteHold(row);', '')],
    profile: 'sharing',
    seeds: 100,
  },
  {
    name: 'a shared token passes every guard',
    ids: ['K61'],
    changes: [
      replaced<typeof lockReads, 'isHeldWith'>(
        'lock/rules/lock-reads',
        'isHeldWith',
        (real) => (view, key, token) => real(view, key, token, true),
      ),
    ],
    profile: 'sharing',
    seeds: 100,
  },
  {
    name: 'waiting readers get no lock after a downgrade',
    ids: ['K62'],
    changes: [
      edit(
        'lock/rules/owner-changes',
        "tx.happened('renewed', shared); grantNext(tx, key, CODE.FIRST_TIME);",
        "tx.happened('renewed', shared);",
      ),
    ],
    profile: 'sharing',
    seeds: 200,
  },
  {
    name: 'a member loads no shared holds',
    ids: ['K63', 'S7'],
    changes: [
      edit(
        'kv/state/holds',
        'for await (const row of rowsOf(store, SPACE.shared)) this.#load(decodeSharedHold(row));',
        '',
      ),
    ],
    profile: 'sharing',
    seeds: 300,
  },
  {
    name: 'a token from before a rotation still writes',
    ids: ['K64'],
    changes: [
      replaced<typeof lockReads, 'isHeldWith'>(
        'lock/rules/lock-reads',
        'isHeldWith',
        (real) => (view, key, token, shared) => {
          const row = view.hold(key)
          const isOlder = row !== undefined && token >= row.firstToken && token <= row.token
          return real(view, key, isOlder ? row.token : token, shared)
        },
      ),
    ],
    profile: 'sharing',
    seeds: 200,
  },
  {
    name: 'a rotation returns the old token',
    ids: ['K64'],
    changes: [
      replaced<typeof holdChanges, 'rotate'>(
        'lock/rules/owner-changes',
        'rotate',
        (real) => (tx, key, id, token) =>
          during(tx, { nextToken: () => token }, () => real(tx, key, id, token)),
      ),
    ],
    profile: 'sharing',
    seeds: 200,
  },
  {
    name: 'a set is granted if its first key is free',
    ids: ['K80'],
    changes: [edit('lock/rules/acquire-all', 'asks.find(', 'asks.slice(0, 1).find(')],
    profile: 'sharing',
    seeds: 100,
  },
  {
    name: 'a waiting set gets only one of its keys',
    ids: ['K80'],
    changes: [inWaitingKeySets('membersOf', () => (_, one) => [one])],
    profile: 'sharing',
    seeds: 100,
  },
  {
    name: 'every later caller may pass a waiting set',
    ids: ['K81'],
    changes: [edit('lock/rules/waiting-key-sets', '!waitsForEarlier(tx, waiter)', 'false')],
    profile: 'sharing',
    seeds: 200,
  },
  {
    name: 'a key that a set kept from others is given to nobody',
    ids: ['K81'],
    changes: [edit('lock/rules/queue', 'return firstNotPassed(tx, key);', 'return undefined;')],
    profile: 'sharing',
    seeds: 200,
  },
  {
    name: 'the cluster reports no circle of flows',
    ids: ['K83'],
    changes: [
      replaced<typeof deadlocks, 'circleOf'>(
        'lock/rules/deadlock-detection',
        'circleOf',
        () => () => undefined,
      ),
    ],
    profile: 'sharing',
    seeds: 300,
  },
  {
    name: 'a circle is reported although the caller could get the lock',
    ids: ['K82'],
    changes: [
      edit(
        'lock/rules/deadlock-detection',
        'if (within.includes(id)) return !isDirect;',
        'if (within.length > 0) return true;',
      ),
    ],
    profile: 'sharing',
    seeds: 300,
  },
]
