export type { Identity, MembershipCodec, Recovered, WalOptions } from './api.js'
export type { Done, File, FileSystem, Opened } from './fs.js'
export { type NodeCalls, nodeFileSystem } from './node-fs.js'
export { Wal } from './wal.js'
