// Rule: the exports of @latchkey/level.
export { LatchkeyLevel, type LatchkeyLevelOptions } from './latchkey-level.js'
