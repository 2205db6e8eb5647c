export { type DiskFailure, type DiskOp, type DiskOpKind, MemoryDisk, type MemoryDiskOptions } from './disk.js'
export type { Loss } from './inode.js'
export { ManualClock } from './manual-clock.js'
