// Rule: the exports of this package.
export { LatchkeyLevel, type LatchkeyLevelOptions } from './level.js'
