// Rule: the messages between a client and a member, as plain data. client-frame-codec.ts encodes them as
// frames of a connection.

import type { Read } from './command-and-read-wire-types.js'
import type { Answer, EventResult, OwnerResult, WatchOf } from './result-wire-types.js'
import type { PartyResult, PartyTicket } from './latch-and-barrier-operations.js'

/**
 * The versions of the clients' protocol that this build supports, from `least` to `most`. The client sends
 * its range, and a member refuses the client if the ranges of the two have no version in common.
 */
export const CLIENT_WIRE = { least: 1, most: 1 } as const

/** The path of the URL at which a member accepts the WebSockets of clients. */
export const CLIENTS_PATH = '/clients'

/**
 * The requests that a client sends to the member at the other end of its connection. The client chooses the
 * ids. On one connection it uses each id once.
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
   * Opens a watch. With `from` 0 the watch begins after the member's revision at a linearizable read. The
   * member sends the events with this id, at most as many as `watchMore` allows. The member never splits the
   * events of one revision, so the last revision may exceed the allowed number.
   */
  | {
      readonly kind: 'watch'
      readonly id: number
      readonly start: Uint8Array | null
      readonly end: Uint8Array | null
      readonly from: number
      /** What the watch reports. By default: changes of keys. */
      readonly of?: WatchOf | undefined
    }
  /**
   * Flow control: permits the member to send `events` more events of this watch. Before the first watchMore,
   * the member may send none.
   */
  | { readonly kind: 'watchMore'; readonly id: number; readonly events: number }
  | { readonly kind: 'watchEnd'; readonly id: number }
  /**
   * Asks the member to send the grants of locks to this session, and the ends of the session's waits, on this
   * connection.
   */
  | { readonly kind: 'attach'; readonly session: number }
  /** A call about the cluster. The arguments are values that JSON could have. */
  | {
      readonly kind: 'admin'
      readonly id: number
      readonly call: AdminCall
      readonly args: readonly unknown[]
      readonly trace?: string | undefined
    }

/**
 * A command for the log. `body` is the encoded Command, and it stays the same when the client sends the
 * command again. Session 0 means that the command opens a session. `number` is the number of the call in its
 * session. All calls of the session with numbers below `done` are finished.
 */
export interface CommandRequest {
  readonly kind: 'command'
  readonly id: number
  readonly session: number
  readonly number: number
  readonly done: number
  readonly body: Uint8Array
  /**
   * The traceparent (traceparent.ts) of the span in which the client sends the request. Absent if the request
   * is not traced.
   */
  readonly trace?: string | undefined
}

/**
 * The calls about the cluster. The list after each name has the arguments: ids and urls are texts, and null
 * stands for an absent argument. After the list comes the type of the result. The result is null if no type
 * is given.
 */
export const ADMIN_CALLS = [
  'status', //            []            a Status
  'ready', //             []            null, when ready() of that member would resolve
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
   * Events for several watches of the same range. `upTo` is the revision up to which the member has sent all
   * events of these watches.
   */
  | {
      readonly kind: 'events'
      readonly ids: readonly number[]
      readonly events: readonly EventResult[]
      readonly upTo: number
    }
  | { readonly kind: 'watchOver'; readonly id: number; readonly answer: Answer | Uint8Array }
  /**
   * A waiter of the attached session got its lock. The message is only a hint, because it does not prove that
   * the sender is the leader (CT5).
   */
  | { readonly kind: 'granted'; readonly key: Uint8Array; readonly owner: OwnerResult }
  /** A wait of the attached session at a latch or barrier has ended. The result is committed and final. */
  | { readonly kind: 'ended'; readonly ticket: PartyTicket; readonly result: PartyResult }
  | LeaderReply

export interface AnswerReply {
  readonly kind: 'answer'
  readonly id: number
  /**
   * In ms, the cluster time `L` of CT5 (docs/locks.md). 0 if the answer does not prove that the member was
   * the leader, for example for a stored answer.
   */
  readonly time: number
  /**
   * The answer, as a list or in the encoded form that the state machine stores. A member may use either form.
   */
  readonly answer: Answer | Uint8Array
  /**
   * True if no member has executed the request, so that the client may send it again to any member. The
   * answer is then an error with the reason.
   */
  readonly never: boolean
}

/**
 * What this member knows about the leader and the members. A member sends this message on each new
 * connection, and again at each change.
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
  /**
   * In ms, the election timeout of the cluster. A client calculates from it how long the leader may be silent
   * before the client tries another member.
   */
  readonly electionTimeout: number
  /** The voters to which this member has no connection. Present only while the member knows no leader. */
  readonly missing?: readonly string[] | undefined
  /**
   * True if the cluster is new and has not had its first election. `missing` then names the members to which
   * the sender has not connected yet.
   */
  readonly isFirstStart?: boolean | undefined
}
/**
 * Returns the sentence in which a member reports that it knows no leader. The member's answers in all
 * protocols, and its log, have the same sentence.
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

/** The first frame that a client sends on a connection. */
export interface Hello {
  readonly cluster: string
  /**
   * The id of the cluster, from an earlier connection. A member of another cluster with the same name
   * recognizes the wrong id and refuses the client.
   */
  readonly clusterId: string | undefined
  readonly token: string | undefined
  readonly least: number
  readonly most: number
}

/**
 * The member's answer to the client's first frame: the version of the protocol, or an error, after which the
 * member closes the connection.
 */
export type Welcome =
  | { readonly ok: true; readonly version: number; readonly clusterId: string }
  | { readonly ok: false; readonly answer: Answer }
