// Rule: known bugs of stores and of what they believe: attempts, answers, clocks, holds.

import { edit, type WholeBug } from './bug.js'

export const clientBugs: readonly WholeBug[] = [
  {
    name: 'only the monotonic clock counts',
    ids: ['T8'],
    patches: [
      edit(
        'base/clock',
        'return Math.max(0, to.hr - from.hr, to.up - from.up - UPTIME_RESOLUTION, to.wall - from.wall);',
        'return Math.max(0, to.hr - from.hr);',
      ),
    ],
    profile: 'deadline',
    seeds: 300,
    scene: { faults: 2, locks: 1 },
  },
  {
    name: 'a hold that was lost comes back',
    ids: ['K30'],
    patches: [
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
    scene: { faults: 2 },
  },
  {
    name: 'a renewal is given up after a twelfth of the lease',
    ids: ['K42'],
    patches: [
      edit('lock/holding/renewal-times', 'return Math.min(lease * 2, ', 'return Math.min(lease / 12, '),
    ],
    profile: 'renewing',
    seeds: 300,
    scene: { faults: 0.6 },
  },
  {
    name: 'a leader that is silent is waited for',
    ids: ['C13'],
    patches: [edit('client/engine/silence-detector', 'this.#beats++;', '')],
    profile: 'kv',
    seeds: 20,
    scene: { members: 3, embedded: 0, electionTimeout: 300, heartbeat: 75 },
    faults: [{ at: 2_000_000, kind: 'pause', who: -1, other: 0, millis: 8_000 }],
  },
  {
    name: 'an embedded store waits for its own member alone',
    ids: ['M28'],
    patches: [
      edit('latchkey/member/leader-reach', 'this.isCutOff = isSilent; return true;', 'return false;'),
    ],
    profile: 'kv',
    seeds: 20,
    scene: { members: 3, embedded: 3, electionTimeout: 300, heartbeat: 75 },
    faults: [{ at: 2_000_000, kind: 'cut', who: -1, other: 0, millis: 8_000 }],
  },
  {
    name: 'what may be in the log is told as refused',
    ids: ['C4', 'C1'],
    patches: [
      edit(
        'raft/node/proposals',
        "this.#waiting = []; for (const { callers } of waiting) tell(callers, { type: 'unknown' });",
        "this.#waiting = []; for (const { callers } of waiting) tell(callers, { type: 'refused', reason });",
      ),
    ],
    profile: 'kv',
    seeds: 300,
    scene: { faults: 2, electionTimeout: 500, heartbeat: 100, members: 3 },
  },
  {
    name: 'ids of attempts are given again',
    ids: ['C5'],
    patches: [
      edit('client/engine/active-link', 'return ++this.#ids;', 'return (this.#ids = (this.#ids % 4) + 1);'),
    ],
    profile: 'kv',
    seeds: 50,
  },
  {
    name: 'a mirror shows the changes of a revision one by one',
    ids: ['C62'],
    patches: [
      edit(
        'client/store/mirror',
        'this.#set(events[at]);',
        '{ this.#set(events[at]); this.#tell(events[at]); }',
      ),
    ],
    profile: 'kv',
    seeds: 20,
  },
  {
    name: 'the changes behind a list begin one revision late',
    ids: ['C61'],
    patches: [
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
    name: 'a mirror keeps what was deleted while the history was lost',
    ids: ['C62'],
    patches: [
      edit(
        'client/store/mirror',
        'this.#next = new Map(); return;',
        'this.#next = new Map(this.#rows); return;',
      ),
    ],
    profile: 'kv',
    seeds: 100,
    scene: { events: 20, faults: 2 },
  },
  {
    name: 'a keep-alive that is refused is sent again at once',
    ids: ['C7'],
    patches: [edit('client/engine/keep-alive', 'if (kept) this.check();', 'this.check();')],
    profile: 'waiters',
    seeds: 300,
    scene: { embedded: 1, sessionLife: 1_500, faults: 2 },
  },
]
