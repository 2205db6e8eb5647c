// Types: the public calls about a cluster: its status and metrics, its members, sessions, snapshots and
// backups. Also the events of a store.

import type { CallOptions } from './key-value-calls-and-options.js'

/** The state of one member, as seen by the member that answers the call. */
export interface MemberStatus {
  id: string
  url: string
  role: 'voter' | 'learner'
  /**
   * How many log entries this member has not stored yet, as seen by the leader. Undefined if the answering
   * member does not know the number.
   */
  lag: number | undefined
  alive: boolean | undefined
  /**
   * In ms, how long `alive` has had its present value. For the answering member itself, the time since it was
   * opened.
   */
  sinceMillis?: number | undefined
}
export interface Status {
  id: string
  role: 'leader' | 'follower' | 'candidate' | 'learner'
  leader: string | undefined
  term: number
  commit: number
  applied: number
  clusterTime: number
  /**
   * The random id of the cluster, or '' while this member does not know the id. If you give this id
   * to `connect` or `open`, the call refuses every other cluster.
   */
  clusterId: string
  members: MemberStatus[]
  /**
   * The ids of the voters that this member cannot reach. The field exists only while this member knows no
   * leader.
   */
  missing?: string[] | undefined
  /**
   * Why this member knows no leader, in a sentence for people. The field exists only while this member knows
   * no leader. `ready()`, /readyz and the log give the same reason.
   */
  whyNoLeader?: string | undefined
  /** The disk use of this member. Undefined if the member keeps everything in memory. */
  disk?: DiskUse | undefined
  /** The version of latchkey that this member runs. */
  version: string
  /**
   * In ms, the time since this member was opened, by its monotonic clock. A caller that compares two readings
   * with its own clock sees how fast the member's clock runs.
   */
  uptimeMillis: number
  /** The wall clock of this member's machine, in ms since 1970. */
  dateMillis: number
}
/** One metric, in the form of prom-client's `getMetricsAsJSON()`. */
export interface Metric {
  name: string
  help: string
  type: 'gauge' | 'counter' | 'histogram'
  /**
   * The values of the metric, one for each set of labels. Only a histogram has `metricName`: the name with
   * `_bucket` (and the label `le`), `_sum` or `_count`.
   */
  values: { labels: Record<string, string>; value: number; metricName?: string | undefined }[]
}
export interface DiskUse {
  /** The bytes of the state: keys, locks, sessions and the events that are kept for watches. */
  stateBytes: number
  logBytes: number
  /** The free bytes, and the size in bytes, of the disk that has the member's directory. */
  freeBytes: number
  totalBytes: number
}
/**
 * The disk use in bytes of one member before and after a compaction. Both numbers are 0 if the member keeps
 * everything in memory.
 */
export interface SnapshotResult {
  bytesBefore: number
  bytesAfter: number
}
/**
 * Calls that change the members of the cluster. These calls need the admin right. While another change is
 * under way, these calls fail with ERR_CONFIG_CHANGE_IN_PROGRESS, which is retryable. docs/operations.md
 * shows how to combine the calls.
 */
export interface MemberCalls {
  /** Adds a member as a learner. A learner follows the leader and does not vote. */
  add(id: string, url: string, options?: CallOptions): Promise<void>
  /** Makes a learner a voter. Rejects with the retryable ERR_BUSY while the learner lacks log entries. */
  promote(id: string, options?: CallOptions): Promise<void>
  /** Changes the address of a member. */
  update(id: string, url: string, options?: CallOptions): Promise<void>
  /** Removes a member from the cluster. Stop its process afterwards. */
  remove(id: string, options?: CallOptions): Promise<void>
  /**
   * Replaces the state of a damaged member by a snapshot of another member. The damaged member keeps its log
   * and its vote.
   */
  rebuild(id: string, options?: CallOptions): Promise<void>
}
/**
 * A session, which is the cluster's record of one store. Writes, locks and waits need a session. A store
 * opens its session at its first such call.
 */
export interface SessionInfo {
  id: number
  /**
   * The identity that opened the session: the name of the client's access token, or the address of the
   * client.
   */
  openedBy: string
  /** In ms, how long the session stays open after the last message of its client. */
  lifeMillis: number
  /** In ms, the time since the last message of the session's client. */
  idleMillis: number
  remainingMillis: number
  /**
   * The number of holds that belong to this session. When the session ends, the holds stay until their leases
   * expire.
   */
  holds: number
  /**
   * The number of the session's places in the queues of locks, plus its waits at latches and barriers. The
   * session's end also ends these waits.
   */
  waiters: number
}
/** Calls that need the admin right. The calls also work when no further session can be opened. */
export interface SessionCalls {
  /** Resolves to all open sessions, ordered by their ids. */
  list(options?: CallOptions): Promise<SessionInfo[]>
  /**
   * Ends a session. Its waiters leave their queues, and its holds stay until their leases expire. A client
   * that still runs opens another session. Resolves to whether the session was open.
   */
  end(id: number, options?: CallOptions): Promise<boolean>
}
export interface BackupOptions extends CallOptions {
  /**
   * With true, the backup replaces an existing file when the backup is complete. By default an existing file
   * is an error.
   */
  overwrite?: boolean | undefined
  /** The store calls this function after each piece with the number of bytes written so far. */
  progress?: ((bytes: number) => void) | undefined
}
export interface ClusterCalls {
  /**
   * Resolves when this member knows a leader and has applied the leader's entries. Rejects with ERR_NO_LEADER
   * and the field `missing` after 30 s, or after `timeout`.
   */
  ready(options?: CallOptions): Promise<void>
  status(options?: CallOptions): Promise<Status>
  /**
   * Resolves to the metrics of the member that answers, for your own exporter. An embedded store asks its own
   * member. `latchkey start` shows the same metrics on /metrics. The call needs the read right.
   */
  metrics(options?: CallOptions): Promise<Metric[]>
  readonly members: MemberCalls
  readonly sessions: SessionCalls
  /**
   * Moves the leadership to the member `id`. Without `id`, the member that lacks the fewest log entries
   * becomes the leader. ERR_TIMEOUT means that the leader has not changed. ERR_OUTCOME_UNKNOWN means that the
   * chosen member got the request and may still become the leader.
   */
  transferLeadership(id?: string, options?: CallOptions): Promise<void>
  /**
   * Compacts the log now, and frees the disk space of deleted rows. Resolves to the disk use of the answering
   * member before and after. Members also compact without this call.
   */
  snapshot(options?: CallOptions): Promise<SnapshotResult>
  /**
   * Writes the whole state of one moment to a new file on the caller's machine, with a checksum over all
   * bytes. Needs the admin right. Without `timeout` the backup has no time limit as long as pieces arrive.
   */
  backup(path: string, options?: BackupOptions): Promise<void>
  /**
   * Closes the store. Pending calls end with ERR_CLOSED, and the signals of the store's holds abort with
   * ERR_CLOSED. One request releases all holds, so the next waiter of each queue gets its lock at once. An
   * embedded leader hands over its leadership. If the cluster does not answer, `close` waits for 2 s at most,
   * and the leases then expire. You may call `close` again.
   */
  close(options?: CloseOptions): Promise<void>
}
export interface CloseOptions {
  /**
   * With 'release', the default, the call releases all holds. With 'keep' the holds stay until their leases
   * expire.
   */
  holds?: 'release' | 'keep' | undefined
}
// A type and not an interface, because an Emitter's type argument must be a Record.
export type StoreEvents = {
  leader: { id: string | undefined; term: number }
  role: { role: Status['role']; term: number }
  member: { id: string; change: 'added' | 'promoted' | 'updated' | 'removed' }
  /**
   * The events `connected`, `disconnected` and `moved` exist only for a store of `connect`. The store has
   * connected to a member, lost its connection, or moved to another member.
   */
  connected: { url: string }
  disconnected: { url: string; error: Error }
  moved: { from: string; to: string }
  /**
   * The event `quorum` exists only for a store of `open`. The embedded member has lost its connections to a
   * majority of the voters, or reaches a majority again.
   */
  quorum: { lost: boolean }
}
