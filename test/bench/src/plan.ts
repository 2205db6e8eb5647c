// Rule: which scenes there are, in which order, and who the peers are.

import { connections } from './scenes/connections.js'
import { sessions, waiters, watchers } from './scenes/crowds.js'
import { everyday, everydayLater } from './scenes/everyday.js'
import { failover, silent, stopped } from './scenes/failover.js'
import { floor } from './scenes/floor.js'
import { handOver, handOverOfKinds } from './scenes/hand-over.js'
import { heldLocks } from './scenes/held-locks.js'
import { keys } from './scenes/keys.js'
import { lagging } from './scenes/lagging.js'
import { loads } from './scenes/loads.js'
import { proposals, soak } from './scenes/proposals.js'
import type { Scene } from './scenes/scene.js'
import { start } from './scenes/start.js'
import { trace } from './scenes/trace.js'
import { turns } from './scenes/turns.js'
import { values } from './scenes/values.js'
import { etcd } from './systems/etcd.js'
import { postgres } from './systems/postgres.js'
import { redis } from './systems/redis.js'
import { redlock } from './systems/redlock.js'
import { rheakv } from './systems/rheakv.js'
import type { SystemFactory } from './systems/system.js'
import { zookeeper } from './systems/zookeeper.js'

export const SCENES: readonly Scene[] = [
  everyday,
  loads,
  handOver,
  handOverOfKinds,
  everydayLater,
  values,
  failover,
  connections,
  watchers,
  waiters,
  stopped,
  silent,
  heldLocks,
  sessions,
  lagging,
  turns,
  keys,
  proposals,
  floor,
  start,
  trace,
  soak,
]

export const PEERS: readonly { readonly name: string; readonly start: SystemFactory }[] = [
  { name: 'etcd', start: etcd },
  { name: 'Redlock', start: redlock },
  { name: 'Redis', start: redis },
  { name: 'ZooKeeper', start: zookeeper },
  { name: 'PostgreSQL', start: postgres },
  { name: 'RheaKV', start: rheakv },
]
