// Rule: known bugs of membership. A member of another cluster serves the clients of this cluster, or a removed
// member does not learn of its removal.

import type { Change } from '../../run/changed-packages.js'
import type { WholeFault } from '../draw-faults.js'
import type { WholeBug } from './bug.js'
import { inClientClusterCheck, inMemberClusterCheck, inMemberLinks } from './product-exports.js'

const OPTIONS = { members: 3, embedded: 0, clients: 2, electionTimeout: 300, heartbeat: 75 } as const
const met = (kind: WholeFault['kind']): readonly WholeFault[] => [
  { at: 2_000_000, kind, who: 0, other: 0, millis: 8_000 },
]

/** The member does not wait for the answers of unknown addresses, or does not stop because of an answer. */
const oneCluster = (careless: { readonly waits: boolean; readonly stops: boolean }): Change =>
  inMemberClusterCheck(
    'OneCluster',
    (Real) =>
      class extends Real {
        constructor(ports: ConstructorParameters<typeof Real>[0]) {
          super(careless.stops ? ports : { ...ports, stop: () => {} })
        }
        override get isAsking() {
          return careless.waits && super.isAsking
        }
      },
  )

/** The client takes all addresses for members of the first cluster that has answered. */
const SAME_CLUSTER_EVERYWHERE = inClientClusterCheck(
  'OneCluster',
  (Real) =>
    class extends Real {
      constructor(...[ports]: ConstructorParameters<typeof Real>) {
        let first: string | undefined
        const dial: typeof ports.dial = (url, identity) => async (events, signal) => {
          const link = await ports.dial(url, identity)(events, signal)
          first ??= identity.clusterId
          identity.clusterId = first
          return link
        }
        super({ ...ports, dial })
      }
    },
)

export const clusterBugs: readonly WholeBug[] = [
  {
    name: 'a member serves clients before the listed members have answered',
    ids: ['M22'],
    changes: [oneCluster({ waits: false, stops: true })],
    workload: 'kv',
    seeds: 20,
    options: OPTIONS,
    faults: met('foreignDirectory'),
  },
  {
    name: 'a member continues although it has met another cluster',
    ids: ['M22'],
    changes: [oneCluster({ waits: true, stops: false })],
    workload: 'kv',
    seeds: 5,
    options: OPTIONS,
    faults: met('foreignDirectory'),
  },
  {
    name: 'a client ignores the cluster ids of the other members',
    ids: ['C30'],
    changes: [oneCluster({ waits: false, stops: false }), SAME_CLUSTER_EVERYWHERE],
    workload: 'kv',
    seeds: 20,
    options: { ...OPTIONS, think: 200, duration: 6_000 },
    faults: met('foreignAmongOthers'),
  },
  {
    name: 'a member on an older connection does not learn of its removal',
    breaks: 'liveness',
    ids: ['M12'],
    changes: [
      inMemberLinks(
        'MemberLinks',
        (Real) =>
          class extends Real {
            constructor(...[ports]: ConstructorParameters<typeof Real>) {
              const send: typeof ports.send = (to, message) =>
                message.kind !== 'notMember' && ports.send(to, message)
              super({ ...ports, send })
            }
          },
      ),
    ],
    workload: 'kv',
    seeds: 5,
    options: { ...OPTIONS, embedded: 3 },
    faults: [{ at: 2_000_000, kind: 'unseenRemoval', who: -1, other: 0, millis: 8_000 }],
  },
]
