// Rule: known bugs of stores and of what they believe: attempts, answers, clocks, holds.

import type * as clock from '../../../../../packages/base/dist/clock.js'
import type * as active from '../../../../../packages/client/dist/engine/active-link.js'
import type * as reach from '../../../../../packages/latchkey/dist/member/contact-with-leader.js'
import type * as renewal from '../../../../../packages/lock/dist/holding/renewal-times.js'
import { replaced } from '../../run/changed-packages.js'
import { edit, type WholeBug } from './bug.js'

/** Clients are suspended, one after the other, and meanwhile their wall clocks are set back by 0.8 s. */
const SUSPENDED_AND_SET_BACK = Array.from({ length: 40 }, (_, i) => ({
  at: 1_000_000 + Math.floor(i / 2) * 250_000 + (i % 2) * 10_000,
  kind: i % 2 === 0 ? ('clientSuspend' as const) : ('wall' as const),
  who: 0,
  other: Math.floor(i / 2),
  millis: i % 2 === 0 ? 150 : 40,
}))

export const clientBugs: readonly WholeBug[] = [
  {
    name: 'the elapsed time uses only the monotonic clock',
    ids: ['T8'],
    changes: [
      replaced<typeof clock, 'elapsed'>(
        'base/clock',
        'elapsed',
        () => (from, to) => Math.max(0, to.hr - from.hr),
      ),
    ],
    profile: 'deadline',
    seeds: 300,
    options: { faults: 2, locks: 1 },
  },
  {
    name: 'the elapsed time ignores the rounding error of uptime',
    ids: ['CT7'],
    changes: [
      replaced<typeof clock, 'elapsed'>(
        'base/clock',
        'elapsed',
        () => (from, to) => Math.max(0, to.hr - from.hr, to.up - from.up - 10, to.wall - from.wall),
      ),
    ],
    profile: 'deadline',
    seeds: 50,
    options: { clocks: 'extreme', locks: 1, lease: [400, 400] },
    faults: SUSPENDED_AND_SET_BACK,
  },
  {
    name: 'a lost hold is in force again',
    ids: ['K30'],
    changes: [
      edit(
        'lock/holding/hold-validity',
        "if (left > 0) return left; this.lose('its lease is over, as far as this process can tell'); return 0;",
        'return left;',
      ),
      edit(
        'lock/holding/hold-validity',
        'if (!this.held) return; this.#deadline',
        "if (this.#state !== 'held') return; this.#deadline",
      ),
    ],
    profile: 'renewing',
    seeds: 300,
    options: { faults: 2 },
  },
  {
    name: 'the store gives up a renewal after a twelfth of the lease',
    ids: ['K42'],
    changes: [
      replaced<typeof renewal, 'patienceOf'>(
        'lock/holding/renewal-times',
        'patienceOf',
        (real) => (lease) => Math.min(lease / 12, real(lease)),
      ),
    ],
    profile: 'renewing',
    seeds: 300,
    options: { faults: 0.6 },
  },
  {
    name: 'a client waits for a silent leader',
    ids: ['C13'],
    changes: [edit('client/engine/silence-detector', 'this.#beats++;', '')],
    profile: 'kv',
    seeds: 20,
    options: { members: 3, embedded: 0, electionTimeout: 300, heartbeat: 75 },
    faults: [{ at: 2_000_000, kind: 'pause', who: -1, other: 0, millis: 8_000 }],
  },
  {
    name: 'an embedded store waits only for its own member',
    ids: ['M28'],
    changes: [
      replaced<typeof reach, 'LeaderReach'>(
        'latchkey/member/contact-with-leader',
        'LeaderReach',
        (Real) =>
          class extends Real {
            override look() {
              return false
            }
          },
      ),
    ],
    profile: 'kv',
    seeds: 20,
    options: { members: 3, embedded: 3, electionTimeout: 300, heartbeat: 75 },
    faults: [{ at: 2_000_000, kind: 'cut', who: -1, other: 0, millis: 8_000 }],
  },
  {
    name: 'a command that may be in the log is reported as refused',
    ids: ['C4', 'C1'],
    changes: [
      edit(
        'raft/node/callers-of-entries',
        "tell(callers, { type: 'unknown' }); } const gathered",
        "tell(callers, { type: 'refused', reason }); } const gathered",
      ),
    ],
    profile: 'kv',
    seeds: 300,
    options: { faults: 2, electionTimeout: 500, heartbeat: 100, members: 3 },
  },
  {
    name: 'a client uses the id of an attempt again',
    ids: ['C5'],
    changes: [
      replaced<typeof active, 'ActiveLink'>(
        'client/engine/active-link',
        'ActiveLink',
        (Real) =>
          class extends Real {
            override nextId() {
              return ((super.nextId() - 1) % 4) + 1
            }
          },
      ),
    ],
    profile: 'kv',
    seeds: 50,
  },
  {
    name: 'a mirror shows the changes of a revision one by one',
    ids: ['C62'],
    changes: [
      edit(
        'client/store/mirror',
        'this.#set(event); same.push(event);',
        '{ this.#set(event); this.#emitChange(event); } same.push(event);',
      ),
    ],
    profile: 'kv',
    seeds: 20,
  },
  {
    name: 'the changes after a list begin one revision too late',
    ids: ['C61'],
    changes: [
      edit(
        'client/store/range-follower',
        'new History(engine, bounds, revision + 1, signal)',
        'new History(engine, bounds, revision + 2, signal)',
      ),
    ],
    profile: 'kv',
    seeds: 50,
  },
  {
    name: 'after lost history, a mirror still shows deleted keys',
    ids: ['C62'],
    changes: [
      edit(
        'client/store/mirror',
        'this.#next = new Map(); return;',
        'this.#next = new Map(this.#rows); return;',
      ),
    ],
    profile: 'kv',
    seeds: 100,
    options: { events: 20, faults: 2 },
  },
  {
    name: 'a client sends a refused keep-alive again at once',
    ids: ['C7'],
    changes: [edit('client/engine/session-keep-alive', 'if (kept) this.check();', 'this.check();')],
    profile: 'waiters',
    seeds: 300,
    options: { embedded: 1, sessionLife: 1_500, faults: 2 },
  },
]
