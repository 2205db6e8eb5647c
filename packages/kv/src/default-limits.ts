// Rule: the default limits of a store.

import { CAPS, COMMAND_BUDGET } from '@latchkey/protocol'
import type { KvLimits } from './kv-store.js'

const MiB = 1024 * 1024

export const DEFAULT_LIMITS: KvLimits = {
  // Only net effects are written: a key that is put again and again gives one row in each batch.
  flushMillis: 200,
  // One batch is written while the next one is filled. LevelDB's binding allocates one block of memory for
  // each batch: large blocks stay with the process as holes in its heap, and are not written faster.
  flushBytes: MiB,
  // Events are written as they are, without a copy.
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
