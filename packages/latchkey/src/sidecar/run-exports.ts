// Rule: the exports that run a sidecar. They are separate from its settings, so that help and settings need
// not load them.

export { jsonLogger } from '@latchkey/daemon'
export { openMember } from '../open/index.js'
export { Reloader } from './reloader.js'
export { Sidecar } from './sidecar.js'
