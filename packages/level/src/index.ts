// Rule: what this package offers.
export { LatchkeyLevel, type LatchkeyLevelOptions } from './level.js'
