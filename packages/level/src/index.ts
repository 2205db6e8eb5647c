// Rule: the exports of @latchkey/level.
export { LatchkeyLevel, type LatchkeyLevelOptions } from './level.js'
