// Rule: every known bug of the whole wiring.

import type { WholeBug } from './bug.js'
import { clientBugs } from './client-bugs.js'
import { clusterBugs } from './cluster-bugs.js'
import { journalBugs } from './journal-bugs.js'
import { lifeBugs } from './life-bugs.js'
import { ruleBugs, timeBugs } from './lock-bugs.js'
import { sharedBugs } from './shared-bugs.js'
import { meetingBugs } from './meeting-bugs.js'
import { storeBugs } from './store-bugs.js'

export const wholeBugs: readonly WholeBug[] = [
  ...timeBugs,
  ...ruleBugs,
  ...sharedBugs,
  ...clientBugs,
  ...clusterBugs,
  ...storeBugs,
  ...journalBugs,
  ...lifeBugs,
  ...meetingBugs,
]
