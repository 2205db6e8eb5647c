// Types: the port through which a member exchanges messages with the others. Production uses sockets, and
// tests use a simulated network.
//
// Laws
//   TR1  Any message may be lost. No message arrives twice on one connection, and none is invented. Messages
//        to a peer that is not connected are dropped.
//   TR2  Appends and pieces of a snapshot reach a peer in the order in which they were sent. Small messages
//        may overtake them.
//   TR3  'dead' is emitted only when the peer's process is known to have ended: its connection was closed,
//        and then the system refused a new connection, or a process with another boot number answered.
//        Silence is never 'dead'.
//   TR4  Events of one peer alternate: up, gone, up, gone. 'dead' comes at most once after a 'gone', before
//        the next 'up'.
//   TR5  'answered' is emitted for an additional address (`given`), and only when the process there has
//        proved its identity. The event carries that process's description and nothing else: no message is
//        sent to that process or taken from it.

import type { ErrorCode } from '@latchkey/protocol'
import type { GroupId, MemberId, Message } from '../core/types.js'

/** What a member says about itself in its handshake. */
export interface PeerInfo {
  readonly id: MemberId
  /** Drawn when the directory is first used. */
  readonly incarnation: string
  /** Drawn at each start of a process. */
  readonly boot: number
  /**
   * The date on which the member's directory was made, in ISO format, for people to read. Undefined if the
   * member did not send it.
   */
  readonly born?: string | undefined
  /** The cluster's id. It is '' until the first leader has drawn the id and this member knows it. */
  readonly clusterId: string
  readonly group: GroupId
  /**
   * The highest level of commands and entries that the member understands. It understands all lower levels
   * too. A leader proposes only what all members have announced.
   */
  readonly level: number
  /** The wire version of this connection. */
  readonly version: number
  /**
   * Set if that member does not list this one as a member. It is the index of the entry up to which that
   * member has applied the log. Undefined if that member lists this one, or did not say.
   */
  readonly missing?: number | undefined
  /** True if that side only wants to know which member it has reached. */
  readonly asks?: true
}

/**
 * 'up': messages that are sent from now on can arrive. 'gone': messages that were sent may be lost.
 * 'dead': see TR3.
 */
export interface PeerEvent {
  readonly id: MemberId
  readonly state: 'up' | 'gone' | 'dead'
  /**
   * For 'up' and 'gone': the process at the other end of the connection. For 'dead': the process that has
   * ended.
   */
  readonly info: PeerInfo
}

export interface AnsweredEvent {
  readonly url: string
  readonly info: PeerInfo
  /**
   * True if both sides admit each other: they belong to the same cluster, and neither has another incarnation
   * than the membership has.
   */
  readonly admitted: boolean
}

/**
 * A handshake that failed for a reason that waiting does not change. The connection is tried again anyway,
 * with pauses.
 */
export interface RefusedEvent {
  /** Undefined if the handshake ended before the other side gave its id. */
  readonly id: MemberId | undefined
  /** 'us': this side refused. 'them': the other side refused. */
  readonly by: 'us' | 'them'
  readonly code: ErrorCode
  readonly reason: string
  /** The other side's description, if it has sent one and has shown valid credentials. */
  readonly info: PeerInfo | undefined
}

/**
 * The address of each member. `given` is an additional address. The process at that address is asked for its
 * cluster.
 */
export type PeerUrls = Readonly<
  Record<MemberId, { readonly url: string; readonly given?: string | undefined }>
>

export type TransportEvents = {
  /**
   * A received message. Each of its fields was checked. `from` is the member at the other end, and `to` is
   * this member. The message shares no memory with its frame.
   */
  message: Message
  /** A message of the layer above. `bytes` is a view of the frame: copy the parts that must be kept. */
  app: { readonly from: MemberId; readonly bytes: Uint8Array }
  peer: PeerEvent
  /** Reports which process has answered at an additional address of a member (TR5). */
  answered: AnsweredEvent
  refused: RefusedEvent
}

export interface TransportStats {
  /** How many messages were not sent because a peer was not connected or too slow. */
  readonly dropped: number
}

/** Counts about the connection to one other member, for metrics. */
export interface PeerStats {
  /**
   * How long the member's last answer to a ping took. If the present ping has waited longer, how long that
   * ping has waited.
   */
  readonly roundTripMillis: number | undefined
  readonly bytesSent: number
  readonly bytesReceived: number
}

export interface Transport {
  /** Counts of what was sent and received since the start. Undefined if the transport does not count. */
  readonly stats?: TransportStats | undefined
  /** The counts of each member that is dialled. Undefined if the transport does not count. */
  peerStats?(): ReadonlyMap<MemberId, PeerStats>
  /**
   * Queues a message. One frame carries all messages of this turn of the event loop. The message is dropped
   * when the peer is not connected or too slow.
   */
  send(to: MemberId, message: Message): void
  /**
   * Queues a message of the layer above on the same connection. Returns false if the message is not taken,
   * because the peer is not connected or its queue is full.
   */
  sendApp(to: MemberId, bytes: Uint8Array): boolean
  /**
   * Sends the queued messages at once. A caller may call `flush` at the end of its turn. Without the call,
   * the messages are sent at the end of the turn of the event loop.
   */
  flush(): void
  /**
   * Sets the members to dial from now on, without this member itself. A removed member is not dialled again,
   * but keeps its connection for a short while, so that it can be told of its removal. `admit` decides which
   * members may dial this one. If `given` is another address, the process there is asked for its description
   * until it has sent the id of its cluster (TR5).
   */
  setPeers(peers: PeerUrls): void
  /** True when a message that is sent now can arrive. */
  connected(id: MemberId): boolean
  /**
   * Returns the description that the member sent on its incoming connection, or on the outgoing connection if
   * there is no incoming one. During a 'message' event it is the description of the sender.
   */
  peer(id: MemberId): PeerInfo | undefined
  /** Checks all connected members again, because the answers of `admit` may have changed. */
  recheck(): void
  on<Name extends keyof TransportEvents>(
    name: Name,
    listener: (event: TransportEvents[Name]) => void,
  ): () => void
  close(): Promise<void>
}
