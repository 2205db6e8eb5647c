// Types: what a watch of locks is asked for, and what it tells.

import type { As, Bytes, KeyAs, LockEventName } from '@latchkey/protocol'

export interface LockWatchOptions<A extends As = As> {
  /** Of the keys: as of a read. */
  as?: A | undefined
  /** Also each renewal and each further acquire of the same holder. Default: false. */
  renewals?: boolean | undefined
  /** Ends it with ERR_ABORTED. */
  signal?: AbortSignal | undefined
}

/** Events of one entry of the log come together, in their order. */
export interface LockWatchEvent<A extends As = 'bytes'> {
  /**
   * `expired`: the lease was over. `released`: by its holder, by force, or by the end of its store. `queued` and `left`: a caller waits,
   * or waits no more without having been granted the lock. `rotated` is not told yet.
   */
  type: LockEventName
  key: KeyAs<A>
  /** Of the holder, or of the caller who waits. */
  id: string
  context: Bytes | undefined
  /** Of the hold; 0 of a caller who waits. */
  fencingToken: number
  /** The store's revision at that moment: changes of locks take no revision of their own, so several may have the same one. */
  revision: number
}
