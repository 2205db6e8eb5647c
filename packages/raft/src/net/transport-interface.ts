// Types: the interface through which a member exchanges messages with other members. Production uses sockets,
// and tests use a simulated network.
//
// Laws
//   TR1  Any message may be lost. No message arrives twice on one connection, and only sent messages arrive.
//        Messages to a peer that is not connected are dropped.
//   TR2  Appends and pieces of a snapshot reach a peer in the order in which they were sent. Small messages
//        may overtake them.
//   TR3  'dead' is emitted only when the peer's process has certainly ended. Its connection was closed, and
//        then the system refused a new connection, or a process with another boot number (drawn at each
//        start) answered. A silent peer is never reported as 'dead'.
//   TR4  'up' and 'gone' of one peer alternate. 'dead' comes at most once between a 'gone' and the next 'up'.
//   TR5  'answered' is emitted for an additional address (`given`), only after the process at that address
//        has proved its identity. The event carries that process's description. No other message is exchanged
//        with the process.

import type { ErrorCode } from '@latchkey/protocol'
import type { GroupId, MemberId, Message } from '../core/types.js'

/** A member's description of itself, which it sends in a handshake. */
export interface PeerInfo {
  readonly id: MemberId
  /** The random id of the member's data directory. */
  readonly incarnation: string
  /** A random number that is drawn at each start of the member's process. */
  readonly boot: number
  /** When the member's directory was made, in ISO format, for people to read. */
  readonly born?: string | undefined
  /**
   * The cluster's random id. The id is '' until the first leader has drawn it and the described member has
   * learned it.
   */
  readonly clusterId: string
  readonly group: GroupId
  /**
   * The highest version of commands and entries that the member understands. A leader proposes only what all
   * members understand.
   */
  readonly level: number
  readonly version: number
  /**
   * Set if the sender's membership does not contain the receiver. The number is the index up to which the
   * sender has applied the log.
   */
  readonly missing?: number | undefined
  readonly asks?: true
}

/**
 * 'up': messages that are sent from now on can arrive. 'gone': the connection is closed, and messages under
 * way may be lost. 'dead': the peer's process has ended (TR3).
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

interface AnsweredEvent {
  readonly url: string
  readonly info: PeerInfo
  /**
   * True if both sides admit each other: both belong to the same cluster, and both have the data directory
   * (incarnation) that the membership has recorded.
   */
  readonly admitted: boolean
}

/**
 * A handshake that was refused for a lasting reason, such as a wrong token. The member still tries again,
 * with pauses.
 */
export interface RefusedEvent {
  /** Undefined if the other side was refused before it sent its id. */
  readonly id: MemberId | undefined
  /** 'us': this member refused the other side. 'them': the other side refused this member. */
  readonly by: 'us' | 'them'
  readonly code: ErrorCode
  readonly reason: string
  /** The other side's description. Undefined if the other side has not proved its identity. */
  readonly info: PeerInfo | undefined
}

/**
 * The address of each member to dial. `given` is an additional address from the options. The process at
 * `given` is only asked which cluster it belongs to.
 */
export type PeerUrls = Readonly<
  Record<MemberId, { readonly url: string; readonly given?: string | undefined }>
>

export type TransportEvents = {
  /**
   * A received message, whose fields are all checked. `from` is the member at the other end of the
   * connection.
   */
  message: Message
  /**
   * A message of the layer above Raft. `bytes` is a view of the received frame, so a listener must copy the
   * parts that it keeps.
   */
  app: { readonly from: MemberId; readonly bytes: Uint8Array }
  peer: PeerEvent
  /**
   * A member was dialled at an address that is not in the membership, and the process there has answered
   * (TR5).
   */
  answered: AnsweredEvent
  refused: RefusedEvent
}

interface TransportStats {
  /** Messages that were not sent because the peer was not connected or too slow. */
  readonly dropped: number
}

export interface PeerStats {
  /**
   * In ms, how long the member's last answer to a ping took. If the current ping already waits longer, its
   * waiting time.
   */
  readonly roundTripMillis: number | undefined
  readonly bytesSent: number
  readonly bytesReceived: number
}

export interface Transport {
  /** Counted from the start of this member on. Undefined if this transport does not count. */
  readonly stats?: TransportStats | undefined
  /** The counters of each dialled member. Undefined if this transport does not count. */
  peerStats?(): ReadonlyMap<MemberId, PeerStats>
  /**
   * All messages of one turn of the event loop are sent in one frame. The message is dropped if the peer is
   * not connected or too slow.
   */
  send(to: MemberId, message: Message): void
  /**
   * Queues a message of the layer above Raft on the same connection. Returns false if the peer is not
   * connected or the queue is full.
   */
  sendApp(to: MemberId, bytes: Uint8Array): boolean
  /** Sends the queued messages now, and not at the end of this turn of the event loop. */
  flush(): void
  /**
   * Sets which members are dialled. `peers` does not contain this member. The connection of a removed member
   * stays open for a short while, so that the member learns of its removal. If a peer also has the address
   * `given`, this side asks the process at `given` for its description, until the process has sent its
   * cluster's id (TR5).
   */
  setPeers(peers: PeerUrls): void
  connected(id: MemberId): boolean
  /**
   * The description of the member at the other end. If the other member has dialled this member, the
   * description comes from that incoming connection. So during a 'message' event this method describes the
   * sender of the message.
   */
  peer(id: MemberId): PeerInfo | undefined
  /**
   * Checks all connected peers again, and closes the connections that are refused now. Called when the
   * answers of `admit` may have changed.
   */
  recheck(): void
  on<Name extends keyof TransportEvents>(
    name: Name,
    listener: (event: TransportEvents[Name]) => void,
  ): () => void
  close(): Promise<void>
}
