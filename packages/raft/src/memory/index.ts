export { type DiskFailure, type DiskOp, MemoryDisk } from './simulated-disk.js'
export type { Loss } from './simulated-file.js'
export { ManualClock } from './manual-clock.js'
export { EventHeap } from './event-heap.js'
export type { Timeline } from './simulated-time-types.js'
export { VirtualClock } from './simulated-machine-clocks.js'
export { Host, HostProcess } from './simulated-host.js'
export { Cuts } from './network-cuts.js'
export {
  type ConnectionOptions,
  MemoryConnection,
  type Side,
  type Unreliable,
} from './simulated-connection.js'
export { MemoryNetwork, type NetworkOptions } from './simulated-network.js'
