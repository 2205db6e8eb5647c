// Rule: the exports that run a sidecar. They are apart from the exports of the settings, so that help and
// settings need not load the member's code.

export { jsonLogger } from '@latchkey/daemon'
export { openMember } from '../open/index.js'
export { Reloader } from './reloader.js'
export { Sidecar } from './sidecar.js'
