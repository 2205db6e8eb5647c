// Types: a known bug of the Raft profile.

import type { RaftWorkload } from '../raft/options.js'
import type { KnownBug } from '../run/known-bug.js'

export type RaftBug = KnownBug<RaftWorkload>
