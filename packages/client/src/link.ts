// Driver's port: one way to a member. A socket is one (client), a call into the own process another (latchkey).
// The session engine owns retries, deadlines and order; a link only carries and tells when it is gone.

import type { Answer, EventResult, OwnerResult, Read } from '@latchkey/protocol'

/** What the engine asks of the member at the other end. Ids are the engine's own, unique while a link lives. */
export type LinkRequest =
  /** A command for the log. session 0: openSession itself. `body` is the encoded Command, sent again byte for byte. */
  | {
      readonly kind: 'command'
      readonly id: number
      readonly session: number
      readonly number: number
      readonly done: number
      readonly body: Uint8Array
    }
  | { readonly kind: 'read'; readonly id: number; readonly stale: boolean; readonly read: Read }
  /** from 0: after the member's revision at a linearizable read. Events follow as pushes with this id. */
  | {
      readonly kind: 'watch'
      readonly id: number
      readonly start: Uint8Array | null
      readonly end: Uint8Array | null
      readonly from: number
    }
  /** Back-pressure: that many more events may be sent. */
  | { readonly kind: 'watchMore'; readonly id: number; readonly events: number }
  | { readonly kind: 'watchEnd'; readonly id: number }
  /** The session whose grants this link wants pushed. */
  | { readonly kind: 'attach'; readonly session: number }
  /** status, ready, members.*, transfer, snapshot, rebuild, backup ...: rare, JSON-like arguments. */
  | { readonly kind: 'admin'; readonly id: number; readonly call: string; readonly args: readonly unknown[] }

export type LinkReply =
  /**
   * time: the cluster time L of CT5 where this answer proves leadership, else 0 (also of an answer from the reply table).
   * never: the request was certainly not handed on; it may be sent again to anybody (the answer is then an error that says why).
   */
  | {
      readonly kind: 'answer'
      readonly id: number
      readonly time: number
      readonly answer: Answer
      readonly never: boolean
    }
  | {
      readonly kind: 'events'
      readonly id: number
      readonly events: readonly EventResult[] /** All revisions up to here have been told. */
      readonly upTo: number
    }
  | { readonly kind: 'watchOver'; readonly id: number; readonly answer: Answer }
  /** A grant was made to a ticket of the attached session. A hint: it proves no leadership (CT5). */
  | { readonly kind: 'granted'; readonly key: Uint8Array; readonly owner: OwnerResult }
  /** What this member knows of its leader, told at the start and at each change. */
  | {
      readonly kind: 'leader'
      readonly id: string | undefined
      readonly url: string | undefined
      readonly term: number
      readonly role: string
      readonly self: string
      readonly clusterId: string
      readonly members: readonly (readonly [id: string, url: string])[]
    }

export interface Link {
  send(request: LinkRequest): void
  close(): void
}
export interface LinkEvents {
  reply(reply: LinkReply): void
  /** Once. After it nothing arrives any more; what was sent and not answered has an unknown fate. */
  closed(reason: Error): void
}
/** Resolves when the member's first `leader` reply is on its way; rejects with a LatchkeyError. */
export type Dial = (events: LinkEvents, signal: AbortSignal) => Promise<Link>
