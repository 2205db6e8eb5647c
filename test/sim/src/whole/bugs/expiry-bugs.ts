// Rule: known bugs of keys with a ttl or a session.

import type * as expiryRows from '../../../../../packages/kv/dist/state/key-expiry-index-rows.js'
import type * as expiry from '../../../../../packages/kv/dist/state/key-expiry-index.js'
import { replaced } from '../../run/changed-packages.js'
import { edit, type WholeBug } from './bug.js'

const OPTIONS = { members: 3, think: 60 } as const

export const expiryBugs: readonly WholeBug[] = [
  {
    name: 'a key expires by the clock of one member',
    ids: ['A1', 'A19'],
    changes: [
      edit(
        'kv/key-value-state-machine',
        'new EntryRun({ state, locks, caps: this.#limits, turn: this.#turn }',
        'new EntryRun({ state, locks, caps: this.#limits, turn: this.#turn, clock: this.#options.clock }',
      ),
      edit(
        'kv/rules/apply-entry',
        'neededExpiry(state, this.#entry.time)',
        'neededExpiry(state, this.#entry.time + (Math.floor(this.#context.clock.now()) % 50))',
      ),
    ],
    profile: 'expiry',
    seeds: 50,
    options: OPTIONS,
  },
  {
    name: 'a key expires after nine tenths of its ttl',
    ids: ['A19'],
    changes: [
      replaced<typeof expiryRows, 'expiryAfter'>(
        'kv/state/key-expiry-index-rows',
        'expiryAfter',
        (real) => (now, ttl) => real(now, Math.ceil(ttl * 0.9)),
      ),
    ],
    profile: 'expiry',
    seeds: 50,
    options: OPTIONS,
  },
  {
    name: 'the state machine looks for expired keys only every three seconds',
    ids: ['A19'],
    changes: [
      edit('kv/state/key-expiry-index-rows', 'export const PERIOD = 100;', 'export const PERIOD = 3_000;'),
    ],
    profile: 'expiry',
    seeds: 50,
    options: OPTIONS,
  },
  {
    name: 'a put without a ttl keeps the ttl of the earlier put',
    ids: ['A20'],
    changes: [
      edit(
        'kv/rules/command-write-set',
        'value, before, undefined, expiry);',
        'value, before, undefined, expiry ?? (before && expiryOf(before)));',
      ),
    ],
    profile: 'expiry',
    seeds: 50,
    options: OPTIONS,
  },
  {
    name: 'a key that is bound to a session outlives the session',
    ids: ['A21'],
    changes: [
      replaced<typeof expiry, 'KeyExpiryIndex'>(
        'kv/state/key-expiry-index',
        'KeyExpiryIndex',
        (Real) =>
          class extends Real {
            override sessionOver() {}
          },
      ),
    ],
    profile: 'expiry',
    seeds: 50,
    options: { ...OPTIONS, sessionLife: 1_500 },
  },
  {
    name: 'after a restart, a member forgets when keys expire',
    ids: ['A23'],
    changes: [
      edit(
        'kv/state/key-expiry-index',
        'this.#earliest = row && indexedAt(binary(row.key.subarray(1))).expiry.number;',
        'this.#earliest = undefined;',
      ),
    ],
    profile: 'expiry',
    seeds: 100,
    options: { ...OPTIONS, faults: 2, flushMillis: 5 },
  },
]
