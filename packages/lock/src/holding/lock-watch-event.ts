// Types: the options of a watch of locks, and its events.

import type { As, Bytes, KeyAs, LockEventName } from '@latchkey/protocol'

export interface LockWatchOptions<A extends As = As> {
  /** The type of the keys, as for a read. */
  as?: A | undefined
  /**
   * Whether the watch also reports each renewal, and each further acquire of the same holder. Default: false.
   */
  renewals?: boolean | undefined
  /** When it aborts, the watch ends with ERR_ABORTED. */
  signal?: AbortSignal | undefined
}

/** One change of a lock. All events of one entry of the log come together, in their order. */
export interface LockWatchEvent<A extends As = 'bytes'> {
  /**
   * - `acquired`, `renewed`: the hold began, or its lease was prolonged, also by a further acquire.
   * - `expired`: the lease was over.
   * - `released`: by its holder, by force, or because its store closed.
   * - `queued`, `left`: a caller joined the queue, or left it without being granted the lock.
   * - `rotated`: the hold has a new fencing token.
   * - `proclaimed`: only in elections, where the leader says something else.
   */
  type: LockEventName
  key: KeyAs<A>
  /** The id of the holder, or of the caller that waits. */
  id: string
  context: Bytes | undefined
  /** The fencing token of the hold. The token is 0 for a waiting caller. */
  fencingToken: number
  /**
   * The store's revision at that moment. A change of a lock takes no revision, so several events may have the
   * same revision.
   */
  revision: number
}
