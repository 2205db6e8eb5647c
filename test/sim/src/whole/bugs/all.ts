// Rule: the list of all known bugs of the whole profile.

import type { WholeBug } from './bug.js'
import { clientBugs } from './client-bugs.js'
import { clusterBugs } from './cluster-bugs.js'
import { eventLogBugs } from './event-log-bugs.js'
import { expiryBugs } from './expiry-bugs.js'
import { idempotencyBugs } from './idempotency-bugs.js'
import { ruleBugs } from './lock-bugs.js'
import { sharedLockBugs } from './shared-lock-bugs.js'
import { barrierBugs } from './barrier-bugs.js'
import { storeBugs } from './store-bugs.js'
import { timeBugs } from './time-bugs.js'

export const wholeBugs: readonly WholeBug[] = [
  ...timeBugs,
  ...ruleBugs,
  ...sharedLockBugs,
  ...clientBugs,
  ...clusterBugs,
  ...storeBugs,
  ...eventLogBugs,
  ...expiryBugs,
  ...barrierBugs,
  ...idempotencyBugs,
]
