// Rule: the list of all known bugs of the Raft profile.

import type { RaftBug } from './bug.js'
import { electionBugs } from './election-bugs.js'
import { memberBugs } from './member-bugs.js'
import { readBugs } from './read-bugs.js'
import { replicationBugs } from './replication-bugs.js'

export const bugs: readonly RaftBug[] = [...electionBugs, ...replicationBugs, ...memberBugs, ...readBugs]
