// Rule: known bugs of keys with a life.

import { edit, type WholeBug } from './bug.js'

const SCENE = { members: 3, think: 60 } as const

export const lifeBugs: readonly WholeBug[] = [
  {
    name: "a key goes by the member's own clock",
    ids: ['A1', 'A19'],
    patches: [
      edit(
        'kv/machine',
        'new EntryRun({ state, locks, caps: this.#limits, turn: this.#turn }',
        'new EntryRun({ state, locks, caps: this.#limits, turn: this.#turn, clock: this.#options.clock }',
      ),
      edit(
        'kv/rules/entry-run',
        'neededLives(state, this.#entry.time)',
        'neededLives(state, this.#entry.time + (Math.floor(this.#bench.clock.now()) % 50))',
      ),
    ],
    profile: 'lives',
    seeds: 50,
    scene: SCENE,
  },
  {
    name: 'a key goes a little early',
    ids: ['A19'],
    patches: [
      edit(
        'kv/state/life-rows',
        'number: Math.min(Math.ceil(now) + ttl, MOST)',
        'number: Math.min(Math.ceil(now) + Math.ceil(ttl * 0.9), MOST)',
      ),
    ],
    profile: 'lives',
    seeds: 50,
    scene: SCENE,
  },
  {
    name: 'keys are looked for too seldom',
    ids: ['A19'],
    patches: [edit('kv/state/life-rows', 'export const PERIOD = 100;', 'export const PERIOD = 3_000;')],
    profile: 'lives',
    seeds: 50,
    scene: SCENE,
  },
  {
    name: 'a put keeps the life of the one before',
    ids: ['A20'],
    patches: [
      edit(
        'kv/rules/draft',
        'value, before, undefined, life);',
        'value, before, undefined, life ?? (before && lifeOf(before)));',
      ),
    ],
    profile: 'lives',
    seeds: 50,
    scene: SCENE,
  },
  {
    name: 'an ephemeral key outlives its session',
    ids: ['A21'],
    patches: [edit('kv/rules/sessions', 'lives.sessionOver(session.id);', '')],
    profile: 'lives',
    seeds: 50,
    scene: { ...SCENE, sessionLife: 1_500 },
  },
  {
    name: 'a start forgets which keys go when',
    ids: ['A23'],
    patches: [
      edit(
        'kv/state/lives',
        'this.#earliest = row && indexedAt(binary(row.key.subarray(1))).life.number;',
        'this.#earliest = undefined;',
      ),
    ],
    profile: 'lives',
    seeds: 100,
    scene: { ...SCENE, faults: 2, flushMillis: 5 },
  },
]
