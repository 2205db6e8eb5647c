export { CAPS } from './fixed-limits.js'
export {
  type BudgetLimits,
  COMMAND_BUDGET,
  overBudget,
  rowsNamed,
  tooManyKeys,
} from './command-row-limits.js'
export { type Duration, millis } from './duration.js'
export {
  ERRORS,
  ERROR_CODES,
  type ErrorCode,
  type ErrorField,
  type ErrorOptions,
  type LockHolder,
  LatchkeyError,
  type Outcome,
  isLatchkeyError,
} from './errors.js'
export * from './key-and-value-encodings.js'
export * from './key-value-calls-and-options.js'
export * from './lock-and-latch-types.js'
export * from './status-and-admin-types.js'
export * from './list-and-watch-result-types.js'
export * from './lock-names-to-keys.js'
export * from './command-and-read-wire-types.js'
export * from './result-wire-types.js'
export * from './latch-and-barrier-operations.js'
export { renewedOwners } from './renewal-answer-expansion.js'
export * from './command-and-answer-codec.js'
export { type MemberFigures, memberMetrics } from './metrics-from-status.js'
export { describeHolder, fenced } from './lock-holder-in-errors.js'
export { showKey, shownKey } from './value-in-errors.js'
export { type KnownNames, knownNames, notOneOf, refuseUnknown, unknownName } from './unknown-option-errors.js'
export { pack } from './msgpack-encoder.js'
export { packedLength } from './msgpack-length.js'
export { Malformed, unpack } from './msgpack-decoder.js'
export * as check from './command-and-answer-checks.js'
export { checkAnswer, checkCommand, checkOwner, checkRead } from './command-and-answer-checks.js'
export * from './client-messages.js'
export { commandName, OPERATION_LIMIT, operationName, opOf, readName } from './operation-names.js'
export { isTraceparent, toTraceIds, traceparentOf } from './traceparent.js'
export { noMask } from './websocket-zero-mask.js'
export {
  decodeHello,
  decodeReplies,
  decodeRequests,
  decodeWelcome,
  encodeHello,
  encodeReplies,
  MOST_IN_FRAME,
  encodeRequests,
  encodeWelcome,
} from './client-frame-codec.js'
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
  toBound,
  toBytes,
  toKeyCopy,
  toOnUndecodable,
  toRecord,
  tooLarge,
  toSignal,
  toToken,
  toValue,
  WRITE_OPTIONS,
  type ReadArgs,
} from './common-argument-checks.js'
export { boundsBelow, commandBelow, keyBelow, readBelow, subArgs } from './sub-store-prefix.js'
export * from './read-and-watch-argument-checks.js'
export * from './write-commands-from-arguments.js'
export * from './wire-result-conversion.js'
export { undecodable, undecodableOf } from './undecodable-value-error.js'
