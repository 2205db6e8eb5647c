// Types: the public contract of the cluster: its members, its sessions, its state, and the events of a store.

import type { CallOptions } from './key-value-types.js'

/** The state of a member, as the answering member knows it. */
export interface MemberStatus {
  id: string
  url: string
  role: 'voter' | 'learner'
  /**
   * The number of log entries that the member lacks, as the leader knows it. Undefined if the number is not
   * known.
   */
  lag: number | undefined
  alive: boolean | undefined
  /**
   * For how many milliseconds `alive` has had its present value, as the answering member knows it. For the
   * answering member itself, this is the time since the member was opened.
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
   * The random id of the cluster. The value is '' until this member knows the id. If `connect` and `open` are
   * given this id, they refuse every other cluster.
   */
  clusterId: string
  members: MemberStatus[]
  /**
   * The ids of the voters that this member does not reach. The field exists only while this member
   * knows no leader.
   */
  missing?: string[] | undefined
  /**
   * The reason for the missing leader, in a sentence for people. The field exists only while this member
   * knows no leader. `ready()`, /readyz and the log give the same reason.
   */
  whyNoLeader?: string | undefined
  /** The bytes that this member uses on its disk. Undefined if it keeps everything in memory. */
  disk?: DiskUse | undefined
  /** The version of latchkey that this member runs. */
  version: string
  /**
   * The milliseconds since this member was opened, by its monotonic clock. The difference of two readings
   * shows the rate of this clock.
   */
  uptimeMillis: number
  /** The wall clock of this member's machine, in milliseconds since 1970. */
  dateMillis: number
}
/** One metric, in the form of prom-client's `getMetricsAsJSON()`. */
export interface Metric {
  name: string
  help: string
  type: 'gauge' | 'counter' | 'histogram'
  /**
   * The values of the metric. `metricName` exists for a histogram only: the name with `_bucket` (and the
   * label `le`), `_sum` or `_count`.
   */
  values: { labels: Record<string, string>; value: number; metricName?: string | undefined }[]
}
export interface DiskUse {
  /** The bytes of the state: keys, locks, sessions, and the history for watches. */
  stateBytes: number
  logBytes: number
  /** The free bytes on the disk of the directory, and the size of that disk in bytes. */
  freeBytes: number
  totalBytes: number
}
/**
 * The bytes on the disk of the member that compacted. They are 0 if the member keeps everything in memory.
 */
export interface SnapshotResult {
  bytesBefore: number
  bytesAfter: number
}
/**
 * Changes of the membership, one at a time. These calls need the admin right. While another change is under
 * way they fail with ERR_CONFIG_CHANGE_IN_PROGRESS, which is retryable. docs/operations.md shows how to
 * combine these calls.
 */
export interface MemberCalls {
  /** Adds a member as a learner. A learner follows the leader and does not vote. */
  add(id: string, url: string, options?: CallOptions): Promise<void>
  /** Makes a learner a voter. Rejects with the retryable ERR_BUSY while the learner is behind. */
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
 * A session of a store. Writes, locks and waits need a session, and a store opens it at the first such call.
 */
export interface SessionInfo {
  id: number
  /** The identity that opened the session: the name of its token, or its address. */
  openedBy: string
  /** In ms, how long the session lives after the last message of its client. */
  lifeMillis: number
  /** In ms, the time since the last message of the session's client. */
  idleMillis: number
  remainingMillis: number
  /**
   * The number of holds that were requested in this session. The holds stay after the session's end until
   * their leases expire.
   */
  holds: number
  /**
   * The number of the session's places in queues, plus its waits at latches and barriers. They end with the
   * session.
   */
  waiters: number
}
/** Calls for admins. The calls also work when no further session can be opened. */
export interface SessionCalls {
  /** All open sessions, ordered by their ids. */
  list(options?: CallOptions): Promise<SessionInfo[]>
  /**
   * Ends a session. Its waiters leave their queues, and its holds stay until their leases expire. A client
   * that is still there opens another session. Resolves to whether the session was open.
   */
  end(id: number, options?: CallOptions): Promise<boolean>
}
export interface BackupOptions extends CallOptions {
  /**
   * If true, an existing file is replaced when the new file is complete. By default an existing file is an
   * error.
   */
  overwrite?: boolean | undefined
  /** Called after each piece with the number of bytes written so far. */
  progress?: ((bytes: number) => void) | undefined
}
export interface ClusterCalls {
  /**
   * Resolves when a leader is known and this member has caught up. Rejects with ERR_NO_LEADER and `missing`
   * after 30 s, or after `timeout`.
   */
  ready(options?: CallOptions): Promise<void>
  status(options?: CallOptions): Promise<Status>
  /**
   * The metrics of the member that answers, for your own exporter. For an embedded store, its own member
   * answers. `latchkey start` shows the same metrics on /metrics. The call needs the right to read.
   */
  metrics(options?: CallOptions): Promise<Metric[]>
  readonly members: MemberCalls
  readonly sessions: SessionCalls
  /**
   * Moves the leadership to the given member, or to the member that is the least behind. ERR_TIMEOUT means
   * that the leader has not changed. ERR_OUTCOME_UNKNOWN means that the other member got the request and may
   * still become the leader.
   */
  transferLeadership(id?: string, options?: CallOptions): Promise<void>
  /**
   * Compacts the log now, and frees the disk space of deleted rows. Resolves to the disk use of the asked
   * member before and after. Members also compact by themselves.
   */
  snapshot(options?: CallOptions): Promise<SnapshotResult>
  /**
   * Writes the whole state of one moment to a new file on the caller's machine, with a checksum over all
   * bytes. Needs the admin right. Without `timeout` the backup may last as long as pieces arrive.
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
  /** 'release' is the default. With 'keep' the holds stay until their leases expire. */
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
   * These events exist only for a store of `open`. Its member no longer reaches a majority, or
   * reaches one again.
   */
  quorum: { lost: boolean }
}
