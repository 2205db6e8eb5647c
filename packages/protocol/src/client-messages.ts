// Rule: the messages between a client and a member, as plain data. client-frames.ts encodes them as frames,
// and a link carries them.

import type { Read } from './operations.js'
import type { Answer, EventResult, OwnerResult, WatchOf } from './results.js'
import type { PartyResult, PartyTicket } from './latch-and-barrier-operations.js'

/**
 * The versions of the clients' protocol that this build supports. Each side sends its range of versions, and
 * both sides use the highest version in both ranges.
 */
export const CLIENT_WIRE = { least: 1, most: 1 } as const

/** The path of clients' WebSockets on the member's port. */
export const CLIENTS_PATH = '/clients'

/**
 * The requests that a client's engine sends to the member at the other end of a link. The engine chooses the
 * ids, which are unique for as long as the link lives.
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
   * With `from` 0 the watch begins after the member's revision at a linearizable read. Events are sent with
   * this id, as many as watchMore allows. The events of one revision stay together, so the last revision may
   * exceed the allowed number.
   */
  | {
      readonly kind: 'watch'
      readonly id: number
      readonly start: Uint8Array | null
      readonly end: Uint8Array | null
      readonly from: number
      /** What is watched. By default keys. */
      readonly of?: WatchOf | undefined
    }
  /** Flow control: the member may send `events` further events. A new watch may send none. */
  | { readonly kind: 'watchMore'; readonly id: number; readonly events: number }
  | { readonly kind: 'watchEnd'; readonly id: number }
  /** Asks the member to push the grants of this session on this link, and the ends of the session's waits. */
  | { readonly kind: 'attach'; readonly session: number }
  /** A call about the cluster. Its arguments are values that JSON could have. */
  | {
      readonly kind: 'admin'
      readonly id: number
      readonly call: AdminCall
      readonly args: readonly unknown[]
      readonly trace?: string | undefined
    }

/**
 * A command for the log. Session 0 means that the command opens a session. `body` is the encoded Command. The
 * bytes stay the same when the command is sent again.
 */
export interface CommandRequest {
  readonly kind: 'command'
  readonly id: number
  readonly session: number
  readonly number: number
  readonly done: number
  readonly body: Uint8Array
  /**
   * The traceparent (traceparent.ts) of the span in which the request is sent. It is absent if the request is
   * not traced.
   */
  readonly trace?: string | undefined
}

/**
 * The calls about the cluster, with their arguments. Ids and urls are texts, and absent arguments are null.
 * The result is a Status, or the type that is named here, or null.
 */
export const ADMIN_CALLS = [
  'status', //            []
  'ready', //             []            answered when ready() of that member would resolve
  'members.add', //       [id, url]
  'members.promote', //   [id]
  'members.update', //    [id, url]
  'members.remove', //    [id]
  'members.rebuild', //   [id]
  'transferLeadership', // [id | null]
  'snapshot', //          []
  'sessions.list', //     []            a SessionResult[]
  'sessions.end', //      [number as text]  whether there was such a session
  'metrics', //           []            a Metric[]
] as const
export type AdminCall = (typeof ADMIN_CALLS)[number]

export type LinkReply =
  | AnswerReply
  /**
   * Events for several watches at once, because watches of one range share their events. `upTo` is the
   * revision up to which all events were sent.
   */
  | {
      readonly kind: 'events'
      readonly ids: readonly number[]
      readonly events: readonly EventResult[]
      readonly upTo: number
    }
  | { readonly kind: 'watchOver'; readonly id: number; readonly answer: Answer | Uint8Array }
  /**
   * A ticket of the attached session was granted a lock. The message is only a hint: it does not prove that
   * the sender leads (CT5).
   */
  | { readonly kind: 'granted'; readonly key: Uint8Array; readonly owner: OwnerResult }
  /** The wait of a party of the attached session has ended. The result is committed and final. */
  | { readonly kind: 'ended'; readonly ticket: PartyTicket; readonly result: PartyResult }
  | LeaderReply

export interface AnswerReply {
  readonly kind: 'answer'
  readonly id: number
  /**
   * The upper bound of cluster time (CT5) if this answer proves that the member led. Otherwise 0, as for a
   * stored answer.
   */
  readonly time: number
  /** The answer, either as a list or packed by the state machine. A member may send both forms. */
  readonly answer: Answer | Uint8Array
  /**
   * True if the request was certainly not executed, so that the client may send it again to any member. The
   * answer is then an error with the reason.
   */
  readonly never: boolean
}

/** What this member knows about its leader. It is sent at the start and at each change. */
export interface LeaderReply {
  readonly kind: 'leader'
  readonly id: string | undefined
  readonly url: string | undefined
  readonly term: number
  readonly role: string
  readonly self: string
  readonly clusterId: string
  readonly members: readonly MemberTuple[]
  /** In ms, the election timeout. A client derives from it how long its leader may be silent. */
  readonly electionTimeout: number
  /** The voters to which this member has no connection. The field exists only while there is no leader. */
  readonly missing?: readonly string[] | undefined
  /**
   * True if the cluster is new and has not started. `missing` then names the members with which the sender
   * has not connected yet.
   */
  readonly isFirstStart?: boolean | undefined
}
/**
 * Returns the sentence with which a member reports that it knows no leader. The sentence is the same in every
 * protocol and in the member's log.
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

/** The first frame of a client. */
export interface Hello {
  readonly cluster: string
  /**
   * The cluster's id from an earlier handshake. A member of another cluster of the same name refuses the
   * client by this id.
   */
  readonly clusterId: string | undefined
  readonly token: string | undefined
  readonly least: number
  readonly most: number
}

/**
 * The member's answer to the first frame: the version in use, or an error, after which the member closes
 * the connection.
 */
export type Welcome =
  | { readonly ok: true; readonly version: number; readonly clusterId: string }
  | { readonly ok: false; readonly answer: Answer }
