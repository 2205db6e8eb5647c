export { CAPS } from './caps.js'
export { type BudgetLimits, COMMAND_BUDGET, overBudget, rowsNamed, tooManyKeys } from './budget.js'
export { type Duration, millis } from './duration.js'
export {
  ERRORS,
  ERROR_CODES,
  type ErrorCode,
  type ErrorOptions,
  LatchkeyError,
  type Outcome,
  isLatchkeyError,
} from './errors.js'
export * from './store.js'
export * from './ops.js'
export { renewedOwners } from './renewed.js'
export * from './codec.js'
export { pack } from './codec-pack.js'
export { Malformed, unpack } from './codec-unpack.js'
export * as check from './codec-check.js'
export { checkAnswer, checkCommand, checkOwner, checkRead } from './codec-check.js'
export * from './frames.js'
export { noMask } from './mask.js'
export {
  decodeHello,
  decodeReplies,
  decodeRequests,
  decodeWelcome,
  encodeHello,
  encodeReplies,
  encodeRequests,
  encodeWelcome,
} from './frames-codec.js'
export {
  callArgs,
  DEFAULT_TIMEOUT,
  readArgs,
  show,
  toAs,
  toRecord,
  toSignal,
  type CallArgs,
  type ReadArgs,
} from './args.js'
export * from './args-reads.js'
export * from './args-writes.js'
export * from './convert.js'
