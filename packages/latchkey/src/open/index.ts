// Rule: the exports of this folder.
export { OpenedMember } from './open-member.js'
export { isClaimed } from './owner-file.js'
export type { EmbeddedStore } from './embedded-store.js'
export { open, openMember } from './open.js'
export type { OpenOptions, TlsOptions } from './options.js'
export type { ReloadOptions } from './reload.js'
export { type RestoreOptions, restore } from './restore.js'
