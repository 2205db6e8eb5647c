// Rule: the caps of a store, and their defaults.

import { CAPS } from '@latchkey/protocol'
import type { KvLimits } from './store.js'

const MiB = 1024 * 1024

export const DEFAULT_LIMITS: KvLimits = {
  flushMillis: 50,
  flushBytes: 4 * MiB,
  overlayBytes: 32 * MiB,
  views: 256,
  viewIdleMillis: 30_000,
  watches: 10_000,
  events: CAPS.events,
  eventBytes: CAPS.eventBytes,
  sessions: CAPS.sessions,
  sessionNumbers: CAPS.sessionNumbers,
  sessionAnswerBytes: CAPS.sessionAnswerBytes,
}
