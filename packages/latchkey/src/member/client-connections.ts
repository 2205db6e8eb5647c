// Driver: owns all client connections of one member. This file tells each connection which member leads. This
// file also sends the grants and the ends of waits of a session to the connections that are attached to the
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
  /** The last index of the log when this member was opened. */
  readonly #recovered: number

  constructor(replica: Replica, shared: Shared) {
    this.#replica = replica
    this.#shared = shared
    this.#recovered = replica.node.raft.lastIndex
  }

  get size(): number {
    return this.#open.size
  }

  /** A reply reaches `tell` in a later turn of the event loop than its request. */
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
   * Clients see the membership of the last applied change. But a member that was just opened first applies
   * the old entries of its log. Until these entries are applied, clients see the newest membership in the
   * log.
   */
  #membership(): Membership {
    const { applied, raft } = this.#replica.node
    return applied.position.index < this.#recovered ? raft.membership : applied.membership
  }

  close(): void {
    for (const clientConnection of [...this.#open]) clientConnection.close()
  }
}
