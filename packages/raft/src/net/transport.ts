// Types: the port through which a member talks to the others. Sockets behind it in production, the world's network in a simulation.
//
// Laws
//   TR1  Anything sent may be lost; nothing comes twice on one connection, and nothing is made up. What is not connected is not kept.
//   TR2  Entries' appends and pieces of a snapshot reach a peer in the order of their sending; small messages may overtake them.
//   TR3  'dead' is said only when the peer's process is known to have ended: its connection closed, and then a new one was
//       refused by the system or answered by another boot. Silence is never 'dead'.
//   TR4  Events of one peer alternate: up, gone, up, gone. 'dead' follows a 'gone', at most once each, before the next 'up'.
//   TR5  'answered' is said of an address that is asked (`given`), and only when the process there has proved itself; what it says is no
//       more than that: nothing is sent to it, and nothing of it is heard.

import type { ErrorCode } from '@latchkey/protocol'
import type { GroupId, MemberId, Message } from '../core/types.js'

/** What a member said of itself in a handshake. */
export interface PeerInfo {
  readonly id: MemberId
  /** Drawn at the first boot of its directory. */
  readonly incarnation: string
  /** Drawn at each start of its process. */
  readonly boot: number
  /** When its directory was made, as an ISO date; undefined: it did not say. For people to read. */
  readonly born?: string | undefined
  /** '' until the first leader has drawn it, or while it is not known there. */
  readonly clusterId: string
  readonly group: GroupId
  /** The newest kinds of commands and entries that it understands: a leader proposes only what all have announced. */
  readonly level: number
  /** The version spoken on this connection. */
  readonly version: number
  /** It does not list this member by what was committed up to this entry; undefined: it does, or it did not say. */
  readonly missing?: number | undefined
  /** It only wants to know who is there. */
  readonly asks?: true
}

/** 'up': what is sent from now on can arrive. 'gone': what was sent may be lost. 'dead': see TR3. */
export interface PeerEvent {
  readonly id: MemberId
  readonly state: 'up' | 'gone' | 'dead'
  /** Of the connection that is up or gone; for 'dead' of the process that has ended. */
  readonly info: PeerInfo
}

export interface AnsweredEvent {
  readonly url: string
  readonly info: PeerInfo
  /** Both let each other in: of one cluster, and the directory that is known for that member. */
  readonly admitted: boolean
}

/** A handshake that failed for a reason that waiting does not cure by itself. It is tried again, with pauses. */
export interface RefusedEvent {
  /** Undefined: it did not come far enough to say who it is. */
  readonly id: MemberId | undefined
  /** 'us': we refused it. 'them': it refused us. */
  readonly by: 'us' | 'them'
  readonly code: ErrorCode
  readonly reason: string
  /** What the other side said of itself, when it said so and showed valid credentials. */
  readonly info: PeerInfo | undefined
}

/** `given`: another address, where a member of that name is asked which cluster it is of. */
export type PeerUrls = Readonly<
  Record<MemberId, { readonly url: string; readonly given?: string | undefined }>
>

export type TransportEvents = {
  /** Checked field by field; its `from` is the member at the other end and its `to` this one. Shares no memory with the frame. */
  message: Message
  /** `bytes` is a view of the frame: copy what is kept. */
  app: { readonly from: MemberId; readonly bytes: Uint8Array }
  peer: PeerEvent
  /** Who is at another address of a member than the one it is dialled at. */
  answered: AnsweredEvent
  refused: RefusedEvent
}

export interface Transport {
  /** Queued, and sent with all else of this turn of the event loop in one frame. Dropped when not connected or when the peer is too slow. */
  send(to: MemberId, message: Message): void
  /** An opaque message of the layer above, on the same connection. False: not taken, because not connected or full. */
  sendApp(to: MemberId, bytes: Uint8Array): boolean
  /** Sends at once what waits; for a caller who knows that its turn is over. Never needed. */
  flush(): void
  /**
   * Who is dialled from now on, without this member itself. Who is no longer among them is still talked to for a little while,
   * so that it can be told why, but not dialled again. Who may dial this member is for the owner's `admit` to say.
   * Where `given` is another address it is asked who is there, again and again until it has told its cluster (TR5).
   */
  setPeers(peers: PeerUrls): void
  /** What is sent now can arrive. */
  connected(id: MemberId): boolean
  /** Who is at the other end: of the connection its messages come on, else of the one to it. During a 'message' the one who sent it. */
  peer(id: MemberId): PeerInfo | undefined
  /** The owner's mind about who may be admitted has changed: all that are connected are judged again. */
  recheck(): void
  on<Name extends keyof TransportEvents>(
    name: Name,
    listener: (event: TransportEvents[Name]) => void,
  ): () => void
  close(): Promise<void>
}
