// Rule: at which address each other member is dialled: the log's, or the one that was given (--member) where that member proved to be there.
//
// The story without it: all members of a cluster are stopped, and their directories are started on new machines with a new list of members.
// The log, which counts, has the old addresses: everybody dials machines that are gone, and the cluster never gets a leader. It cannot
// write the new addresses down either, because that takes one.
//
// Laws (M24)
//   - the log's address counts for as long as the member is connected there
//   - another one that was given is asked too. The member is dialled there only after it has proved there that it is this member, by
//     cluster and incarnation, and while it is not connected at the log's address, which has an election timeout for it: a list that is wrong or
//     old cuts nobody off, and another name of the log's own address is not taken for a move because it answered first
//   - when the connection there is gone, both addresses are tried anew
//   - an address of former times is asked only while its member is not connected: a list is often older than the log
//   - a leader that has found a member in this way writes the address down, and with it its own one as it was given: the list
//     is newer than the log then. So clients, and members that were not given the list, learn of it. An address of former times is
//     never written: a member that was told to move (members update), and has not yet, would be moved back

import { membersOf } from '../core/index.js'
import type { MemberId, Membership } from '../core/types.js'
import type { PeerUrls } from '../net/index.js'

type Urls = Readonly<Record<MemberId, string>>

export interface AddressPorts {
  readonly id: MemberId
  /** Addresses of members, as they were given. */
  readonly given: Urls
  /** That address has been that member's, by this log. */
  wasAt(id: MemberId, url: string): boolean
  /** Where it is dialled now. */
  isConnected(id: MemberId): boolean
}

/** The same address in one spelling. */
export const sameUrl = (a: string, b: string): boolean => a === b || spelled(a) === spelled(b)

const spelled = (url: string): string => (URL.canParse(url) ? new URL(url).href.replace(/\/+$/, '') : url)

export class Addresses {
  readonly #ports: AddressPorts
  /** Who has said at the address that was given which cluster it is of. */
  readonly #asked = new Set<MemberId>()
  /** Who has proved to be itself there. */
  readonly #proven = new Set<MemberId>()
  /** Who is dialled there. */
  readonly #moved = new Set<MemberId>()
  #dialled: Urls = {}
  #logged: Urls = {}

  constructor(ports: AddressPorts) {
    this.#ports = ports
  }

  /** Where that member is dialled now. */
  dialled(id: MemberId): string {
    return this.#dialled[id] ?? ''
  }

  /** Whom to dial, and who has yet to be asked at another address; strangers are not known by the log. */
  peers(membership: Membership, strangers: Urls): PeerUrls {
    const known = membersOf(membership).length > 0
    this.#logged = urlsOf(membership)
    // A member that waits to be added knows the others from its options only.
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

  /** The process at the address that was given said which cluster it is of. */
  answered(id: MemberId): void {
    this.#asked.add(id)
  }

  /** It had proved to be that member, and the log's address has had its time to answer since. */
  proved(id: MemberId): void {
    if (this.#asked.has(id)) this.#proven.add(id)
  }

  /** It was given another address than the log's. */
  hasTwo(id: MemberId): boolean {
    const given = this.#ports.given[id]
    return given !== undefined && given !== '' && !sameUrl(given, this.#logged[id] ?? given)
  }

  /** The connection to that member is gone: both its addresses are tried anew. */
  gone(id: MemberId): void {
    for (const one of [this.#asked, this.#proven, this.#moved]) one.delete(id)
  }

  /** What the log should say: who was found elsewhere, and this member with them. */
  moved({ peers }: Membership): Urls {
    const { id: own, given } = this.#ports
    const isFound = ([id, url]: readonly [MemberId, string]) =>
      url !== '' &&
      (this.#moved.has(id) || id === own) &&
      peers[id] !== undefined &&
      !sameUrl(peers[id].url, url) &&
      !this.#ports.wasAt(id, url)
    if (this.#moved.size === 0) return {}
    // Its own first: when the others are written down, nothing tells any more that they had moved.
    const ownFirst = [...new Set([own, ...Object.keys(given)])].map((id) => [id, given[id] ?? ''] as const)
    return Object.fromEntries(ownFirst.filter(isFound))
  }
}

const urlsOf = ({ peers }: Membership): Urls =>
  Object.fromEntries(Object.entries(peers).map(([id, { url }]) => [id, url]))
