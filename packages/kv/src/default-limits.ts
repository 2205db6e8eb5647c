// Rule: the caps of a store, and their defaults.

import { CAPS, COMMAND_BUDGET } from '@latchkey/protocol'
import type { KvLimits } from './kv-store.js'

const MiB = 1024 * 1024

export const DEFAULT_LIMITS: KvLimits = {
  // Only net effects are written: of a key that is put again and again, one row a batch.
  flushMillis: 200,
  // One batch is in flight while the next gathers, and LevelDB's bindings make one piece of memory of each: large ones stay with
  // the process as holes in its heap, and write no faster.
  flushBytes: MiB,
  // Written as they stand, without a copy.
  flushEventBytes: 4 * MiB,
  overlayBytes: 6 * MiB,
  views: 256,
  viewsOfOne: 128,
  viewIdleMillis: 30_000,
  watches: 10_000,
  watchesOfOne: 5_000,
  events: CAPS.events,
  eventBytes: CAPS.eventBytes,
  budget: COMMAND_BUDGET,
  sessions: CAPS.sessions,
  sessionsOfOne: CAPS.sessionsOfOne,
  sessionIdleMillis: CAPS.sessionIdleMillis,
  sessionNumbers: CAPS.sessionNumbers,
  sessionAnswerBytes: CAPS.sessionAnswerBytes,
}
