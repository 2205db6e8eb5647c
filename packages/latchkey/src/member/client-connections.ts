// Driver: owns all client connections of one member. This file tells each connection which member leads. It
// also sends the grants and the ends of waits of a session to the connections that are attached to the
// session.

import type { LinkReply, OwnerResult, PartyResult, PartyTicket } from '@latchkey/protocol'
import type { Membership, Replica } from '@latchkey/raft'
import type { CallCounters, CallSource } from './call-counters.js'
import { ClientConnection, type ClientConnectionPorts } from './client-connection.js'
import type { Identity } from './identity-and-rights.js'
import { SessionAttachments } from './connections-of-sessions.js'
import { leaderReplyOf } from './member-status.js'

interface Shared extends Omit<ClientConnectionPorts, 'tell' | 'identity' | 'attach' | 'ended' | 'calls'> {
  readonly calls: CallCounters
}

export class ClientConnections {
  readonly #replica: Replica
  readonly #shared: Shared
  readonly #open = new Set<ClientConnection>()
  readonly #attachments = new SessionAttachments<ClientConnection>()
  /** The index of the last entry in this member's log when the member was opened. */
  readonly #recovered: number

  /** `shared` has the objects that all client connections use. */
  constructor(replica: Replica, shared: Shared) {
    this.#replica = replica
    this.#shared = shared
    this.#recovered = replica.node.raft.lastIndex
  }

  get size(): number {
    return this.#open.size
  }

  /** Opens a client connection. A reply reaches `tell` in a later turn of the event loop than its request. */
  open(tell: (reply: LinkReply) => void, identity: Identity, source: CallSource): ClientConnection {
    const clientConnection = new ClientConnection({
      ...this.#shared,
      calls: this.#shared.calls[source],
      tell,
      identity,
      attach: (session, by) => this.#attachments.attach(session, by),
      ended: (by) => this.#leave(by),
    })
    this.#open.add(clientConnection)
    clientConnection.tell(leaderReplyOf(this.#replica, this.#membership()))
    return clientConnection
  }

  #leave(clientConnection: ClientConnection): void {
    this.#open.delete(clientConnection)
    this.#attachments.leave(clientConnection)
  }

  granted(session: number, key: Uint8Array, owner: OwnerResult): void {
    for (const clientConnection of this.#attachments.of(session)) clientConnection.granted(key, owner)
  }

  ended(session: number, ticket: PartyTicket, result: PartyResult): void {
    for (const clientConnection of this.#attachments.of(session)) clientConnection.ended(ticket, result)
  }

  tellLeader(): void {
    const reply = leaderReplyOf(this.#replica, this.#membership())
    for (const clientConnection of this.#open) clientConnection.tell(reply)
  }

  /**
   * Returns the membership of the last applied change, even if the log has a later change. While a member
   * that was just opened still applies the entries of its own log, the function returns the newest membership
   * in the log instead. Otherwise clients would hear of old changes again.
   */
  #membership(): Membership {
    const { applied, raft } = this.#replica.node
    return applied.position.index < this.#recovered ? raft.membership : applied.membership
  }

  close(): void {
    for (const clientConnection of [...this.#open]) clientConnection.close()
  }
}
