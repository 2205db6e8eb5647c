// Rule: known bugs of keys with a life.

import type * as lifeRows from '../../../../../packages/kv/dist/state/key-expiry-index-rows.js'
import type * as expiry from '../../../../../packages/kv/dist/state/key-expiry-index.js'
import { replaced } from '../../run/changed-packages.js'
import { edit, type WholeBug } from './bug.js'

const OPTIONS = { members: 3, think: 60 } as const

export const expiryBugs: readonly WholeBug[] = [
  {
    name: "a key goes by the member's own clock",
    ids: ['A1', 'A19'],
    changes: [
      edit(
        'kv/key-value-state-machine',
        'new EntryRun({ state, locks, caps: this.#limits, turn: this.#turn }',
        'new EntryRun({ state, locks, caps: this.#limits, turn: this.#turn, clock: this.#options.clock }',
      ),
      edit(
        'kv/rules/apply-entry',
        'neededLives(state, this.#entry.time)',
        'neededLives(state, this.#entry.time + (Math.floor(this.#context.clock.now()) % 50))',
      ),
    ],
    profile: 'expiry',
    seeds: 50,
    options: OPTIONS,
  },
  {
    name: 'a key goes a little early',
    ids: ['A19'],
    changes: [
      replaced<typeof lifeRows, 'lifeUntil'>(
        'kv/state/key-expiry-index-rows',
        'lifeUntil',
        (real) => (now, ttl) => real(now, Math.ceil(ttl * 0.9)),
      ),
    ],
    profile: 'expiry',
    seeds: 50,
    options: OPTIONS,
  },
  {
    name: 'keys are looked for too seldom',
    ids: ['A19'],
    changes: [
      edit('kv/state/key-expiry-index-rows', 'export const PERIOD = 100;', 'export const PERIOD = 3_000;'),
    ],
    profile: 'expiry',
    seeds: 50,
    options: OPTIONS,
  },
  {
    name: 'a put keeps the life of the one before',
    ids: ['A20'],
    changes: [
      edit(
        'kv/rules/command-write-set',
        'value, before, undefined, life);',
        'value, before, undefined, life ?? (before && lifeOf(before)));',
      ),
    ],
    profile: 'expiry',
    seeds: 50,
    options: OPTIONS,
  },
  {
    name: 'an ephemeral key outlives its session',
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
    name: 'a start forgets which keys go when',
    ids: ['A23'],
    changes: [
      edit(
        'kv/state/key-expiry-index',
        'this.#earliest = row && indexedAt(binary(row.key.subarray(1))).life.number;',
        'this.#earliest = undefined;',
      ),
    ],
    profile: 'expiry',
    seeds: 100,
    options: { ...OPTIONS, faults: 2, flushMillis: 5 },
  },
]
