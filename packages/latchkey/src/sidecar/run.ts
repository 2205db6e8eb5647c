// Rule: the exports that run a sidecar, apart from its settings, so that help and settings need not load
// them.

export { openMember } from '../open/index.js'
export { jsonLogger } from './log.js'
export { Reloader } from './reloader.js'
export { Sidecar } from './sidecar.js'
