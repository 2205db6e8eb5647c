export type { Identity, MembershipCodec, Recovered, WalOptions } from './log-types.js'
export {
  lockDirectory,
  type Processes,
  type ProcessName,
  refuseLocked,
} from './directory-lock.js'
export type { Done, File, FileSystem, Opened } from './file-system-interface.js'
export { FILE_SYSTEM_CASES } from './file-system-suite.js'
export { type NodeCalls, nodeFileSystem } from './node-file-system.js'
export { Wal } from './wal.js'
