// Rule: the address at which each other member is dialled: the address in the log, or the given one (option
// --member) if the member has proved that it is there.
//
// Without this rule: all members of a cluster are stopped, and their directories are started on new machines
// with a new list of members. The log still has the old addresses. Every member dials machines that are gone,
// and the cluster never gets a leader. Only a leader could write the new addresses to the log.
//
// Laws (M24)
//   - the log's address is used for as long as the member is connected there
//   - if the given address differs from the log's address, the process at the given address is asked too. The
//     member is dialled there only after it has proved there, by cluster and incarnation, that it is this
//     member. Also, the member must not be connected at the log's address. The process there has an election
//     timeout to answer. So a wrong or old list disconnects no member. A second name of the log's address
//     does not count as a new address, even if the member answers there first
//   - when the connection at the given address is gone, both addresses are tried again
//   - an address that the member had earlier is asked only while the member is not connected, because a given
//     list is often older than the log
//   - a leader that has found a member at a given address writes this address to the log, and its own given
//     address too, because the list is then newer than the log. So clients, and members without the list,
//     learn the address. An address that the member had earlier is never written. Otherwise a member that an
//     operator has moved by `members update`, and that has not restarted yet, would be moved back

import { membersOf } from '../core/index.js'
import type { MemberId, Membership } from '../core/types.js'
import type { PeerUrls } from '../net/index.js'

type Urls = Readonly<Record<MemberId, string>>

interface AddressPorts {
  readonly id: MemberId
  /** The addresses of members in this member's options. */
  readonly given: Urls
  /** True if that address was earlier the address of that member, according to this log. */
  wasAt(id: MemberId, url: string): boolean
  /** True when the member is connected at the address that is dialled now. */
  isConnected(id: MemberId): boolean
}

/** True if both texts mean the same address, perhaps written differently. */
export const sameUrl = (a: string, b: string): boolean => a === b || spelled(a) === spelled(b)

const spelled = (url: string): string => (URL.canParse(url) ? new URL(url).href.replace(/\/+$/, '') : url)

export class Addresses {
  readonly #ports: AddressPorts
  /** Members whose process at the given address has answered with its cluster. */
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

  /** The address at which that member is dialled now. */
  dialled(id: MemberId): string {
    return this.#dialled[id] ?? ''
  }

  /**
   * Returns the members to dial, and the additional addresses to ask. `strangers` are given members that the
   * log does not know.
   */
  peers(membership: Membership, strangers: Urls): PeerUrls {
    const known = membersOf(membership).length > 0
    this.#logged = urlsOf(membership)
    // A member that waits to be added knows the others only from its options.
    const urls = known ? { ...strangers, ...urlsOf(membership) } : this.#ports.given
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

  /** Called when the process at the given address has answered with its cluster. */
  answered(id: MemberId): void {
    this.#asked.add(id)
  }

  /**
   * Called when the process at the given address has proved that it is member `id`. The process at the log's
   * address has had an election timeout to answer before this call.
   */
  proved(id: MemberId): void {
    if (this.#asked.has(id)) this.#proven.add(id)
  }

  /** True if the given address differs from the log's address. */
  hasTwo(id: MemberId): boolean {
    const given = this.#ports.given[id]
    return given !== undefined && given !== '' && !sameUrl(given, this.#logged[id] ?? given)
  }

  /** Called when the connection to that member is gone. Both addresses of the member are tried again. */
  gone(id: MemberId): void {
    for (const one of [this.#asked, this.#proven, this.#moved]) one.delete(id)
  }

  /**
   * Returns the addresses to write to the log: the addresses at which members were found, and this member's
   * own address.
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
    // This member's own address is written first. Once the new addresses of the others are in the log, #moved
    // is empty and this method returns nothing, so the own address would never be written.
    const ownFirst = [...new Set([own, ...Object.keys(given)])].map((id) => [id, given[id] ?? ''] as const)
    return Object.fromEntries(ownFirst.filter(isFound))
  }
}

const urlsOf = ({ peers }: Membership): Urls =>
  Object.fromEntries(Object.entries(peers).map(([id, { url }]) => [id, url]))
