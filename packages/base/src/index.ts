export { Histogram } from './histogram.js'
export { onAbort } from './abort-signal-listeners.js'
export { AssertionError, assert, elementAt, lastOf, unreachable } from './assert.js'
export {
  EMPTY,
  asBuffer,
  binary,
  compareBytes,
  copyBytes,
  equalBytes,
  fromBinary,
  keyAfter,
  prefixEnd,
  startsWith,
  text,
  utf8,
  utf8Between,
} from './bytes.js'
export { APART_BYTES, type Apart, withApart } from './uncopied-large-pieces.js'
export { checksum, checksumTable } from './checksum.js'
export { Heap } from './binary-heap.js'
export { type Clock, type Instant, type Timer, elapsed, microtask, nextTurn, systemClock } from './clock.js'
export {
  type ConnectionHandler,
  ConnectionErrors,
  codePlace,
  shortError,
} from './connection-handler-errors.js'
export { endRefused, REFUSED_MS } from './close-refused-socket.js'
export { Emitter } from './emitter.js'
export { RecyclingMap } from './map-with-frequent-deletes.js'
export { addByKey, deleteByKey } from './sets-by-key.js'
export { newId } from './random-ids.js'
export { canonicalUrl, sameUrl } from './same-url.js'
export { type Logger, loggerOption, silentLogger } from './logger.js'
export { LimitedLines, shortText } from './log-line-rate-limit.js'
export { type RefusalCount, RefusalLog } from './refused-input-log.js'
export { didYouMean, nearest } from './nearest-name.js'
export { NONCE_BYTES, newNonce } from './nonce.js'
export { type Random, seededRandom } from './seeded-random.js'
export { type Defer, Turns } from './end-of-event-loop-turn.js'
