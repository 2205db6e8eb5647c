// Types: the port through which a member exchanges messages with the others. Production uses sockets, tests
// use a simulated network.
//
// Laws
//   TR1  Any message may be lost; none arrives twice on one connection, and none is invented. Messages to a
//        peer that is not connected are dropped.
//   TR2  Appends and pieces of a snapshot reach a peer in the order in which they were sent; small messages
//        may overtake them.
//   TR3  'dead' is emitted only when the peer's process is known to have ended: its connection closed, and
//        then a new one was refused by the system or answered by a process with another boot number. Silence
//        is never 'dead'.
//   TR4  Events of one peer alternate: up, gone, up, gone. 'dead' follows a 'gone', at most once each, before
//        the next 'up'.
//   TR5  'answered' is emitted for an additional address (`given`), and only when the process there has
//        proved itself. The event carries that process's description and nothing else: no message is sent to
//        that process or taken from it.

import type { ErrorCode } from '@latchkey/protocol'
import type { GroupId, MemberId, Message } from '../core/types.js'

/** The description that a member sends in its handshake. */
export interface PeerInfo {
  readonly id: MemberId
  /** Drawn at the first start of a directory. */
  readonly incarnation: string
  /** Drawn at each start of a process. */
  readonly boot: number
  /**
   * The date on which the member's directory was made, in ISO format, for people to read; undefined when the
   * member did not send it.
   */
  readonly born?: string | undefined
  /** '' until the first leader has drawn the id, or while this member does not know it. */
  readonly clusterId: string
  readonly group: GroupId
  /**
   * The newest kinds of commands and entries that the member understands. A leader proposes only kinds that
   * all members have announced.
   */
  readonly level: number
  /** The wire version of this connection. */
  readonly version: number
  /**
   * The index of the entry up to which that member does not list this one as a member; undefined when it
   * lists this member, or did not say.
   */
  readonly missing?: number | undefined
  /** That side only wants to know which member is here. */
  readonly asks?: true
}

/** 'up': messages sent from now on can arrive. 'gone': sent messages may be lost. 'dead': see TR3. */
export interface PeerEvent {
  readonly id: MemberId
  readonly state: 'up' | 'gone' | 'dead'
  /** For the states 'up' and 'gone': the peer of that connection. For 'dead': the process that has ended. */
  readonly info: PeerInfo
}

export interface AnsweredEvent {
  readonly url: string
  readonly info: PeerInfo
  /** True when both sides admit each other: they are of one cluster, and the incarnation is the known one. */
  readonly admitted: boolean
}

/**
 * A handshake that failed for a reason that does not pass by waiting. The connection is tried again, with
 * pauses.
 */
export interface RefusedEvent {
  /** Undefined when the handshake ended before the other side gave its id. */
  readonly id: MemberId | undefined
  /** 'us': this side refused. 'them': the other side refused. */
  readonly by: 'us' | 'them'
  readonly code: ErrorCode
  readonly reason: string
  /** The other side's description, when it has sent one and has shown valid credentials. */
  readonly info: PeerInfo | undefined
}

/** `given`: an additional address, where the member of that id is asked which cluster it is of. */
export type PeerUrls = Readonly<
  Record<MemberId, { readonly url: string; readonly given?: string | undefined }>
>

export type TransportEvents = {
  /**
   * Each field is checked. `from` is the member at the other end and `to` is this member. Shares no memory
   * with the frame.
   */
  message: Message
  /** `bytes` is a view of the frame: copy the parts to keep. */
  app: { readonly from: MemberId; readonly bytes: Uint8Array }
  peer: PeerEvent
  /** Reports which process has answered at an additional address of a member (TR5). */
  answered: AnsweredEvent
  refused: RefusedEvent
}

export interface TransportStats {
  /** Messages not sent because a peer was not connected or too slow. */
  readonly dropped: number
}

/** What was counted of one other member, for metrics. */
export interface PeerStats {
  /** How long this member's connection to it has been there, in ms; undefined: it is not connected. */
  readonly connectedMillis: number | undefined
  /** How long its last answer to a ping took, or how long the present ping has waited if that is longer. */
  readonly roundTripMillis: number | undefined
  readonly bytesSent: number
  readonly bytesReceived: number
}

export interface Transport {
  /** What was sent and received from the start on; undefined: it is not counted. */
  readonly stats?: TransportStats | undefined
  /** The members that are dialled; undefined: it is not counted. */
  peerStats?(): ReadonlyMap<MemberId, PeerStats>
  /**
   * Queues a message; one frame carries all messages of this turn of the event loop. The message is dropped
   * when the peer is not connected or too slow.
   */
  send(to: MemberId, message: Message): void
  /**
   * Queues an opaque message of the layer above on the same connection. False: not taken, because the peer is
   * not connected or its queue is full.
   */
  sendApp(to: MemberId, bytes: Uint8Array): boolean
  /**
   * Sends the queued messages at once, for a caller that knows that its turn is over. The call is never
   * necessary.
   */
  flush(): void
  /**
   * The members to dial from now on, without this member itself. A removed member keeps its connection for a
   * short while, so that it can be told of its removal, but is not dialled again. `admit` decides which
   * members may dial this one.
   * Where `given` is another address, the process there is asked for its description until it has sent its
   * cluster's id (TR5).
   */
  setPeers(peers: PeerUrls): void
  /** True when a message that is sent now can arrive. */
  connected(id: MemberId): boolean
  /**
   * The description of the member at the other end: of its incoming connection, else of the outgoing one.
   * During a 'message' event it is the description of the sender.
   */
  peer(id: MemberId): PeerInfo | undefined
  /** The answers of `admit` may have changed: all connected members are checked again. */
  recheck(): void
  on<Name extends keyof TransportEvents>(
    name: Name,
    listener: (event: TransportEvents[Name]) => void,
  ): () => void
  close(): Promise<void>
}
