// Types: the objects that all acquisitions of one store share.

import type { LatchkeyError } from '@latchkey/protocol'
import type { Around } from './flow-for-deadlock-detection.js'
import type { ClusterTimeRefresh } from './hold-expiry-and-time-refresh.js'
import type { HoldValidity } from './hold-validity.js'
import type { Indexed, IndexedSet } from './indexed-set.js'
import type { LockPort } from './lock-port-interface.js'
import type { Renewals } from './renewals.js'
import type { Watchdog } from './renewing-watchdog.js'

/** An acquisition that has, or may have, a hold or a place in a queue. */
export interface Releasable extends Indexed {
  readonly ticket: { readonly key: Uint8Array; readonly id: string }
  readonly validity: HoldValidity | undefined
  revoke(why: LatchkeyError, released: Promise<boolean>): void
}
export interface LockServices {
  readonly port: LockPort
  readonly clusterTimeRefresh: ClusterTimeRefresh
  readonly renewals: Renewals
  readonly acquisitions: IndexedSet<Releasable>
  readonly around: Around
  /** The store's own watchdog, which renews all holds except the holds of `getDistributedLock`. */
  readonly watchdog: Watchdog
}
