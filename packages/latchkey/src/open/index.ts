// Rule: what this folder offers.
export { OpenedMember } from './open-member.js'
export { isClaimed } from './owner-file.js'
export { open, openMember } from './open.js'
export type { OpenOptions, TlsOptions } from './options.js'
export { type RestoreOptions, restore } from './restore.js'
