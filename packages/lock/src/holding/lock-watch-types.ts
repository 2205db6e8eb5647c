// Types: the options of a watch of locks, and its events.

import type { As, Bytes, KeyAs, LockEventName } from '@latchkey/protocol'

export interface LockWatchOptions<A extends As = As> {
  /** The type of the keys in the events. The default is the type of the store. */
  as?: A | undefined
  /**
   * Whether the watch also reports each renewal, and each further acquire of the same holder. Default: false.
   */
  renewals?: boolean | undefined
  /** If this signal aborts, the watch ends with ERR_ABORTED. */
  signal?: AbortSignal | undefined
}

/** One change of a lock. A watch yields the changes in the order in which the cluster applied them. */
export interface LockWatchEvent<A extends As = 'bytes'> {
  /**
   * - `acquired`: the hold began.
   * - `renewed`: the lease of the hold was prolonged, by a renewal or by a further acquire.
   * - `expired`: the lease was over.
   * - `released`: the holder or an operator released the hold, or its store closed.
   * - `queued`: a caller joined the queue.
   * - `left`: a caller left the queue without being granted the lock.
   * - `rotated`: the hold has a new fencing token.
   * - `proclaimed`: the leader of an election proclaims another value.
   */
  type: LockEventName
  key: KeyAs<A>
  /** The id of the holder or of the waiting caller. */
  id: string
  context: Bytes | undefined
  /** The fencing token of the hold. The token is 0 for a waiting caller. */
  fencingToken: number
  /**
   * The store's revision at that moment. A change of a lock does not increase the revision, so several events
   * may have the same revision.
   */
  revision: number
}
