export { CAPS } from './caps.js'
export { type BudgetLimits, COMMAND_BUDGET, overBudget, rowsNamed, tooManyKeys } from './budget.js'
export { type Duration, millis } from './duration.js'
export {
  ERRORS,
  ERROR_CODES,
  type ErrorCode,
  type ErrorOptions,
  type LockHolder,
  LatchkeyError,
  type Outcome,
  isLatchkeyError,
} from './errors.js'
export * from './encodings.js'
export * from './public-types.js'
export * from './revision-types.js'
export * from './operations.js'
export { renewedOwners } from './renewal-answers.js'
export * from './command-codec.js'
export { type KnownNames, knownNames, refuseUnknown, unknownName } from './known-names.js'
export { pack } from './msgpack-encoder.js'
export { Malformed, unpack } from './msgpack-decoder.js'
export * as check from './command-checks.js'
export { checkAnswer, checkCommand, checkOwner, checkRead } from './command-checks.js'
export * from './client-messages.js'
export { noMask } from './websocket-mask.js'
export {
  decodeHello,
  decodeReplies,
  decodeRequests,
  decodeWelcome,
  encodeHello,
  encodeReplies,
  encodeRequests,
  encodeWelcome,
} from './client-frames.js'
export {
  CALL_OPTIONS,
  callArgs,
  closeArgs,
  decodingArg,
  DEFAULT_TIMEOUT,
  PUT_OPTIONS,
  readArgs,
  show,
  toAs,
  toOnUndecodable,
  toRecord,
  toSignal,
  WRITE_OPTIONS,
  type CallArgs,
  type ReadArgs,
} from './call-arguments.js'
export * from './read-arguments.js'
export * from './write-arguments.js'
export * from './result-conversion.js'
export { undecodable, undecodableOf } from './undecodable.js'
