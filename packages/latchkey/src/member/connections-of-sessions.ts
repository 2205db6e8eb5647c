// Rule: decides which client connections get the grants of which session. A client connection is attached to
// the session that it named last. All connections of a session get its grants. Session ids are easy to guess.
// So client-connection.ts first checks that the client has the right to write, and that no other identity
// opened the session.

import { addByKey, deleteByKey } from '@latchkey/base'

export class SessionAttachments<ClientConnection> {
  readonly #bySession = new Map<number, Set<ClientConnection>>()
  readonly #byConnection = new Map<ClientConnection, number>()

  attach(session: number, clientConnection: ClientConnection): void {
    this.leave(clientConnection)
    this.#byConnection.set(clientConnection, session)
    addByKey(this.#bySession, session, clientConnection)
  }

  leave(clientConnection: ClientConnection): void {
    const session = this.#byConnection.get(clientConnection)
    if (session === undefined) return
    this.#byConnection.delete(clientConnection)
    deleteByKey(this.#bySession, session, clientConnection)
  }

  of(session: number): Iterable<ClientConnection> {
    return this.#bySession.get(session) ?? []
  }

  get sessions(): number {
    return this.#bySession.size
  }
}
