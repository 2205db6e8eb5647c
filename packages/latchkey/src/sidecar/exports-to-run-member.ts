// Rule: the exports that run a sidecar. The settings are exported elsewhere, so that the options --help and
// --print-config do not load the member's code.

export { jsonLogger } from '@latchkey/daemon'
export { openMember } from '../open/index.js'
export { Reloader } from './certificate-and-token-reloader.js'
export { Sidecar } from './member-and-port-lifetime.js'
