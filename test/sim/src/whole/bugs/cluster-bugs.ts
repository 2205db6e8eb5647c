// Rule: known bugs by which a member of another cluster serves the clients of this one.

import type { WholeFault } from '../faults.js'
import { edit, type WholeBug } from './bug.js'

const SCENE = { members: 3, embedded: 0, clients: 2, electionTimeout: 300, heartbeat: 75 } as const
const met = (kind: WholeFault['kind']): readonly WholeFault[] => [
  { at: 2_000_000, kind, who: 0, other: 0, millis: 8_000 },
]
const SERVES_AT_ONCE = edit('raft/node/one-cluster', 'return !this.#isOver;', 'return false;')
const STAYS = edit(
  'raft/node/one-cluster',
  'if (others.length > 0) return this.#ports.stop(this.#error(own, others));',
  '',
)

export const clusterBugs: readonly WholeBug[] = [
  {
    name: 'a member serves before the strangers that it was given have answered',
    ids: ['M22'],
    patches: [SERVES_AT_ONCE],
    profile: 'kv',
    seeds: 20,
    scene: SCENE,
    faults: met('foreignDirectory'),
  },
  {
    name: 'a member does not mind that strangers are of another cluster',
    ids: ['M22'],
    patches: [STAYS],
    profile: 'kv',
    seeds: 5,
    scene: SCENE,
    faults: met('foreignDirectory'),
  },
  {
    name: 'a client asks the other addresses, and does not mind what they say',
    ids: ['C30'],
    patches: [
      SERVES_AT_ONCE,
      STAYS,
      edit('client/one-cluster', 'if (foreign.length > 0) throw this.#fail(this.#two(clusterId));', ''),
      edit('client/one-cluster', 'if (this.#met.get(url) !== own) this.#fail(this.#two(own));', ''),
    ],
    profile: 'kv',
    seeds: 20,
    scene: SCENE,
    faults: met('foreignAmongOthers'),
  },
]
