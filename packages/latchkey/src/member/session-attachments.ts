// Rule: decides which client connections get the grants of which session. A client connection is attached to
// the session that it named last. Session ids are easy to guess, so the client needs the right to write. If
// several connections are attached to one session, all of them get its grants.

export class SessionAttachments<ClientConnection> {
  readonly #bySession = new Map<number, Set<ClientConnection>>()
  readonly #byConnection = new Map<ClientConnection, number>()

  attach(session: number, clientConnection: ClientConnection): void {
    this.leave(clientConnection)
    this.#byConnection.set(clientConnection, session)
    const clientConnections = this.#bySession.get(session) ?? new Set()
    this.#bySession.set(session, clientConnections.add(clientConnection))
  }

  leave(clientConnection: ClientConnection): void {
    const session = this.#byConnection.get(clientConnection)
    if (session === undefined) return
    this.#byConnection.delete(clientConnection)
    const clientConnections = this.#bySession.get(session)
    clientConnections?.delete(clientConnection)
    if (clientConnections?.size === 0) this.#bySession.delete(session)
  }

  of(session: number): Iterable<ClientConnection> {
    return this.#bySession.get(session) ?? []
  }

  get sessions(): number {
    return this.#bySession.size
  }
}
