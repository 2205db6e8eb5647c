// Rule: the default limits of a store. KvLimits (kv-store-types.ts) explains each limit.

import { CAPS, COMMAND_BUDGET } from '@latchkey/protocol'
import type { KvLimits } from './kv-store-types.js'

const MiB = 1024 * 1024

export const DEFAULT_LIMITS: KvLimits = {
  // A key that is put ten times within this delay is written to the disk once.
  flushMillis: 200,
  // Larger batches would not be faster, because the next batch is filled while a batch is written. LevelDB's
  // binding allocates one block of memory for each batch, and large blocks leave holes in the heap of the
  // process.
  flushBytes: MiB,
  // Events of keys have a larger limit than rows, because they are written to the event log without a copy.
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
