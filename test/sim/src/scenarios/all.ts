// Rule: the list of all directed scenarios.

import { elections } from './elections.js'
import { members } from './members.js'
import { replication } from './replication.js'
import type { Scenario } from './scenario.js'

export const scenarios: readonly Scenario[] = [...elections, ...replication, ...members]
