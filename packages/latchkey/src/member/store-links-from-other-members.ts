// Driver: serves the stores that are embedded in other members, while those members have no contact with the
// leader. Such a store connects to this member by a link. This member forwards the store's requests to the
// leader, as for all clients.
//
// Laws (M28)
// - This member forwards a request of a link only to its leader. A receiver that does not lead refuses the
//   request. Without this law: member a believes that c reaches the leader, and c believes that a reaches the
//   leader. One command then travels between a and c for ever.
// - Only a member of this cluster may open a link, and only while this member has contact with its leader.
//   When this member loses that contact, it closes the link. Without this law: member c follows a deposed
//   leader and accepts the requests of member a. The store of a then waits at c for an answer until the
//   leases of its locks end, although another member knows the new leader.
// - This member passes on the leader's cluster time unchanged. The store measures the age of this time from
//   the moment at which the store first sent the request (CT5).
// - A session has the same identity whether a store opens it over a link or at its own member. The identity
//   comes from the authenticated connection, never from a message.

import { copyBytes, type Defer, shortError } from '@latchkey/base'
import { decodeRequests, type LinkReply } from '@latchkey/protocol'
import type { MemberId } from '@latchkey/raft'
import type { ClientConnection } from './client-connection.js'
import type { LinkMessage } from './non-raft-member-messages.js'
import { Outbox } from './replies-to-connection.js'
import { embeddedIn, type Identity } from './identity-and-rights.js'

/**
 * How many links one store may have at this member. A store needs a second link while it changes from one
 * link to the next. A further link closes the oldest link.
 */
const MOST_LINKS = 4

interface LinksFromMembersPorts {
  readonly defer: Defer
  readonly send: (to: MemberId, message: LinkMessage) => boolean
  /**
   * Returns why this member does not serve the store of the member `from` now. Undefined means that this
   * member serves the store.
   */
  refusal(from: MemberId): string | undefined
  readonly clientConnection: (tell: (reply: LinkReply) => void, identity: Identity) => ClientConnection
}

export class LinksFromMembers {
  readonly #ports: LinksFromMembersPorts
  readonly #byMember = new Map<MemberId, Map<number, ClientConnection>>()

  constructor(ports: LinksFromMembersPorts) {
    this.#ports = ports
  }

  get count(): number {
    let count = 0
    for (const links of this.#byMember.values()) count += links.size
    return count
  }

  open(from: MemberId, id: number): void {
    const refusal = this.#ports.refusal(from)
    if (refusal !== undefined) return this.#tellClosed(from, id, refusal)
    const links = this.#byMember.get(from) ?? new Map<number, ClientConnection>()
    this.#end(from, id, 'the link was opened again')
    for (const oldest of [...links.keys()].slice(0, Math.max(0, links.size + 1 - MOST_LINKS)))
      this.#end(from, oldest, 'the store has too many links')
    this.#byMember.set(from, links)
    const outbox = this.#outbox(from, id)
    const tell = (reply: LinkReply) => outbox.tell(reply)
    links.set(id, this.#ports.clientConnection(tell, embeddedIn(from)))
  }

  /** A reply that cannot be sent is lost, and the link is closed. */
  #outbox(from: MemberId, id: number): Outbox {
    const { send, defer } = this.#ports
    let isWhole = true
    return new Outbox({
      write: (frame) => {
        isWhole &&= send(from, { kind: 'linkReplies', id, frame })
      },
      wrote: () => {
        if (!isWhole) this.#end(from, id, 'the store does not read its replies')
        return isWhole
      },
      defer: (run) => defer(() => this.#guarded(from, id, run)),
    })
  }

  #guarded(from: MemberId, id: number, run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#end(from, id, shortError(error))
    }
  }

  asked(from: MemberId, id: number, frame: Uint8Array): void {
    const connection = this.#byMember.get(from)?.get(id)
    if (connection === undefined) return this.#tellClosed(from, id, 'the link is closed')
    if (frame.length === 0) return void this.#ports.send(from, { kind: 'linkReplies', id, frame })
    const requests = decodeRequests(copyBytes(frame))
    if (typeof requests === 'string') return this.#end(from, id, requests)
    for (const request of requests) {
      if (this.#byMember.get(from)?.get(id) !== connection) return
      connection.send(request)
    }
  }

  closed(from: MemberId, id: number): void {
    this.#drop(from, id)
  }

  /**
   * Ends the links from the member `from`. The connection to this member has closed, so replies may be lost.
   */
  gone(from: MemberId): void {
    this.#endOf(from, 'the connection was lost')
  }

  /** Called when this member has lost contact with the leader, or closes. */
  closeAll(reason: string): void {
    for (const from of [...this.#byMember.keys()]) this.#endOf(from, reason)
  }

  #endOf(from: MemberId, reason: string): void {
    for (const id of [...(this.#byMember.get(from)?.keys() ?? [])]) this.#end(from, id, reason)
  }

  #end(from: MemberId, id: number, reason: string): void {
    if (this.#drop(from, id)) this.#tellClosed(from, id, reason)
  }

  #drop(from: MemberId, id: number): boolean {
    const links = this.#byMember.get(from)
    const connection = links?.get(id)
    if (links === undefined || connection === undefined) return false
    links.delete(id)
    if (links.size === 0) this.#byMember.delete(from)
    connection.close()
    return true
  }

  #tellClosed(from: MemberId, id: number, reason: string): void {
    this.#ports.send(from, { kind: 'linkClosed', id, reason })
  }
}
