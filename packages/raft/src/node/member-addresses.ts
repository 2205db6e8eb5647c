// Rule: chooses the address at which each other member is dialled. The log has an address of each member. The
// option --member can give another address, which is called the given address below.
//
// Without this rule: all members of a cluster are stopped. Their directories are started on new machines,
// with a new list of members. The log still has the old addresses, where no machine answers. Only a leader
// could write the new addresses to the log, and the members cannot elect one.
//
// Laws (M24)
//   - the log's address is used as long as the other member is connected there.
//   - if the given address differs from the log's address, this member asks the process at the given address
//     which member it is. The process must prove that it belongs to the same cluster and has the other
//     member's data directory. If the other member is still not connected at the log's address after an
//     election timeout, it is dialled at the given address. So a wrong or old list disconnects no member. If
//     both addresses reach the same process, the log's address stays in use.
//   - both addresses are tried again when the connection at the given address is closed, or when the other
//     member does not connect there within an election timeout.
//   - a given address can be an earlier address of the other member, because a list of addresses in the
//     options is often older than the log. This member asks at an earlier address only while the other member
//     is not connected.
//   - a leader that has found a member at a given address writes this address to the log, and also its own
//     given address. So clients, and members without the list, learn the new addresses. An address that the
//     member had earlier is never written, because an old list must not undo a move that an operator has made
//     with `members update`.

import { sameUrl } from '@latchkey/base'
import { membersOf } from '../core/index.js'
import type { MemberId, Membership } from '../core/types.js'
import type { PeerUrls } from '../net/index.js'

type Urls = Readonly<Record<MemberId, string>>

interface AddressPorts {
  readonly id: MemberId
  /** The addresses of the members from this member's options. */
  readonly given: Urls
  wasAt(id: MemberId, url: string): boolean
  /** True if the member is connected at the address that is dialled now. */
  isConnected(id: MemberId): boolean
}

export class Addresses {
  readonly #ports: AddressPorts
  /** Members at whose given address a process has answered. */
  readonly #asked = new Set<MemberId>()
  /** Members that have proved their identity at the given address. */
  readonly #proven = new Set<MemberId>()
  /** Members that are dialled at the given address. */
  readonly #moved = new Set<MemberId>()
  #dialled: Urls = {}
  #logged: Urls = {}

  constructor(ports: AddressPorts) {
    this.#ports = ports
  }

  dialled(id: MemberId): string {
    return this.#dialled[id] ?? ''
  }

  /**
   * Returns for each other member the address to dial, and the given address if the process there must be
   * asked too. `unknown` has the members of the options that the log does not have.
   */
  peers(membership: Membership, unknown: Urls): PeerUrls {
    const known = membersOf(membership).length > 0
    this.#logged = urlsOf(membership)
    // A new member that waits to be added has no membership in its log, so it dials the members of its
    // options.
    const urls = known ? { ...unknown, ...urlsOf(membership) } : this.#ports.given
    const others = Object.entries(urls).filter(([id, url]) => id !== this.#ports.id && url !== '')
    const peers = others.map(([id, url]) => [id, this.#peer(id, url)] as const)
    this.#dialled = Object.fromEntries(peers.map(([id, peer]) => [id, peer.url]))
    return Object.fromEntries(peers)
  }

  #peer(id: MemberId, url: string): { readonly url: string; readonly given?: string } {
    const given = this.#ports.given[id] ?? ''
    if (given === '' || sameUrl(given, url)) {
      this.gone(id)
      return { url }
    }
    const isConnected = this.#ports.isConnected(id)
    if (this.#proven.has(id) && !isConnected) this.#moved.add(id)
    if (this.#moved.has(id)) return { url: given }
    if (this.#asked.has(id) || (isConnected && this.#ports.wasAt(id, given))) return { url }
    return { url, given }
  }

  /**
   * Called when a process has answered at the given address of member `id`. This member need not ask at the
   * given address again.
   */
  answered(id: MemberId): void {
    this.#asked.add(id)
  }

  /**
   * Called an election timeout after the process at the given address has proved to be member `id`. From now
   * on member `id` is dialled at the given address as soon as no connection at the log's address is open. If
   * a connection to the member was closed during the election timeout, this call changes nothing.
   */
  proved(id: MemberId): void {
    if (this.#asked.has(id)) this.#proven.add(id)
  }

  /** True if the member has a given address that differs from the log's address. */
  hasTwo(id: MemberId): boolean {
    const given = this.#ports.given[id]
    return given !== undefined && given !== '' && !sameUrl(given, this.#logged[id] ?? given)
  }

  /**
   * Called when the connection to the member is closed, or when the member does not connect at its given
   * address. Both addresses are tried again.
   */
  gone(id: MemberId): void {
    for (const one of [this.#asked, this.#proven, this.#moved]) one.delete(id)
  }

  /**
   * Returns the addresses that a leader must write to the log: the given addresses of members that were found
   * there, and this member's own given address.
   */
  moved({ peers }: Membership): Urls {
    const { id: own, given } = this.#ports
    const isFound = ([id, url]: readonly [MemberId, string]) =>
      url !== '' &&
      (this.#moved.has(id) || id === own) &&
      peers[id] !== undefined &&
      !sameUrl(peers[id].url, url) &&
      !this.#ports.wasAt(id, url)
    if (this.#moved.size === 0) return {}
    // The leader writes one address at a time, and writes no address once `#moved` is empty. `#moved` becomes
    // empty when the last moved member's address is in the log. So the leader writes its own address first.
    // At a later place its own address would never be written.
    const ownFirst = [...new Set([own, ...Object.keys(given)])].map((id) => [id, given[id] ?? ''] as const)
    return Object.fromEntries(ownFirst.filter(isFound))
  }
}

const urlsOf = ({ peers }: Membership): Urls =>
  Object.fromEntries(Object.entries(peers).map(([id, { url }]) => [id, url]))
