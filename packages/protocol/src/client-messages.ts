// Rule: the messages between a client and a member. client-frame-codec.ts encodes them.

import type { Read } from './command-and-read-wire-types.js'
import type { Answer, EventResult, OwnerResult, WatchOf } from './result-wire-types.js'
import type { PartyResult, PartyTicket } from './latch-and-barrier-operations.js'

/**
 * The versions of the client protocol that this build supports, from `least` to `most`. A member refuses a
 * client if the range of the client and the range of the member have no common version.
 */
export const CLIENT_WIRE = { least: 1, most: 1 } as const

export const CLIENTS_PATH = '/clients'

/**
 * The requests of a client to the member at the other end of its connection. The client uses each id once on
 * a connection.
 */
export type LinkRequest =
  | CommandRequest
  | {
      readonly kind: 'read'
      readonly id: number
      readonly stale: boolean
      readonly read: Read
      readonly trace?: string | undefined
    }
  /**
   * Opens a watch. With `from` 0 the watch begins after the present revision of the store. The member sends
   * at most as many events as `watchMore` allows. The events of one revision stay together, so the member may
   * exceed that number to complete a revision.
   */
  | {
      readonly kind: 'watch'
      readonly id: number
      readonly start: Uint8Array | null
      readonly end: Uint8Array | null
      readonly from: number
      readonly of?: WatchOf | undefined
    }
  /**
   * Flow control: the member may send `events` more events of this watch. Before the first watchMore, the
   * member may send no event.
   */
  | { readonly kind: 'watchMore'; readonly id: number; readonly events: number }
  | { readonly kind: 'watchEnd'; readonly id: number }
  /**
   * Attaches a session to this connection. From now on, the member reports on this connection each lock that
   * the session gets. The member also reports the end of each wait of the session at a latch or barrier.
   */
  | { readonly kind: 'attach'; readonly session: number }
  /** An administrative call. Its arguments are values that JSON can encode. */
  | {
      readonly kind: 'admin'
      readonly id: number
      readonly call: AdminCall
      readonly args: readonly unknown[]
      readonly trace?: string | undefined
    }

/**
 * A command for the log. `body` is the encoded Command. A repeated command has the same bytes. With session 0
 * the command opens a session. `number` is the number of the call in its session. All calls of the session
 * with numbers below `done` are finished.
 */
export interface CommandRequest {
  readonly kind: 'command'
  readonly id: number
  readonly session: number
  readonly number: number
  readonly done: number
  readonly body: Uint8Array
  /** The traceparent of the client's span. Absent if the request is not traced. */
  readonly trace?: string | undefined
}

/**
 * The administrative calls. The list after a name has the arguments: ids and urls are texts, and null stands
 * for an absent argument. After the list comes the type of the result. Without a type the result is null.
 */
export const ADMIN_CALLS = [
  'status', //            []            a Status
  'ready', //             []            null, sent when the member is ready
  'members.add', //       [id, url]
  'members.promote', //   [id]
  'members.update', //    [id, url]
  'members.remove', //    [id]
  'members.rebuild', //   [id]
  'transferLeadership', // [id | null]
  'snapshot', //          []            a SnapshotResult
  'sessions.list', //     []            a SessionResult[]
  'sessions.end', //      [number as text]  true if the session was open
  'metrics', //           []            a Metric[]
] as const
export type AdminCall = (typeof ADMIN_CALLS)[number]

export type LinkReply =
  | AnswerReply
  /**
   * Events for watches of the same range. The member has sent all events of these watches up to the revision
   * `upTo`.
   */
  | {
      readonly kind: 'events'
      readonly ids: readonly number[]
      readonly events: readonly EventResult[]
      readonly upTo: number
    }
  | { readonly kind: 'watchOver'; readonly id: number; readonly answer: Answer | Uint8Array }
  /**
   * A waiter of the attached session got its lock. This message does not prove that its sender is the leader
   * (CT5).
   */
  | { readonly kind: 'granted'; readonly key: Uint8Array; readonly owner: OwnerResult }
  /** A wait of the attached session at a latch or barrier has ended. The result is committed. */
  | { readonly kind: 'ended'; readonly ticket: PartyTicket; readonly result: PartyResult }
  | LeaderReply

export interface AnswerReply {
  readonly kind: 'answer'
  readonly id: number
  /**
   * In ms, the cluster time that the leader gave to the answer. The client computes from this time an upper
   * bound of the present cluster time (CT5 in docs/locks.md, where this time is `L`). 0 if the answer does
   * not prove that its sender was the leader, for example if the answer was stored at an earlier attempt.
   */
  readonly time: number
  /** The answer as a list, or in the encoded form that the state machine stores. */
  readonly answer: Answer | Uint8Array
  /**
   * True if no member has executed the request. The client may then send the request again to any member.
   * `answer` is then an error with the reason.
   */
  readonly never: boolean
}

/**
 * What the member knows about the leader and the other members. A member sends this message on each new
 * connection and at each change.
 */
export interface LeaderReply {
  readonly kind: 'leader'
  readonly id: string | undefined
  readonly url: string | undefined
  readonly term: number
  readonly role: string
  readonly self: string
  readonly clusterId: string
  readonly members: readonly MemberTuple[]
  /** In ms. The client computes from this time how long the leader may be silent. */
  readonly electionTimeout: number
  /** The voters to which the member has no connection. Absent if the member knows a leader. */
  readonly missing?: readonly string[] | undefined
  /**
   * True before the first election of a new cluster. `missing` then names the members to which the member has
   * not connected yet.
   */
  readonly isFirstStart?: boolean | undefined
}
/**
 * Returns a sentence that says why the member knows no leader. Error answers and the log contain this
 * sentence.
 */
export function leaderlessMessage({
  self,
  missing = [],
  isFirstStart,
}: Pick<LeaderReply, 'self' | 'missing' | 'isFirstStart'>): string {
  const names = missing.join(', ')
  if (isFirstStart && missing.length > 0)
    return `This cluster is new, and starts once its members have met each other: member ${self} has not met ${names} yet. Start what is missing.`
  if (missing.length > 0) return `Nobody leads: member ${self} does not reach ${names}.`
  return `Nobody leads yet: the members that member ${self} reaches have not elected one.`
}

export type MemberTuple = readonly [id: string, url: string, role?: 'voter' | 'learner']

export interface Hello {
  readonly cluster: string
  /**
   * The id of the cluster, from an earlier connection. A member with another cluster id refuses the client,
   * even if its cluster has the same name.
   */
  readonly clusterId: string | undefined
  readonly token: string | undefined
  readonly least: number
  readonly most: number
}

/**
 * The answer to a Hello: the version of the protocol, or an error. After an error the member closes the
 * connection.
 */
export type Welcome =
  | { readonly ok: true; readonly version: number; readonly clusterId: string }
  | { readonly ok: false; readonly answer: Answer }
