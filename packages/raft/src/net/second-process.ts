// Rule: of two processes that say to be the same member, which one is it? Somebody has started a copy of a member's directory: cluster,
// member and incarnation are the same in both, only the boot differs.
//
// Laws
//   - the member is who answers at the member's address, which the cluster has agreed on; the other process is refused, and both logs
//     name it. Without that each takes the other's place: a new connection of a member ends the one before it, whose process then
//     dials at once. Both are cut off again and again, and nobody is told why.
//   - a process is refused only while another one is connected at that address. So one that has started again is never kept out by its
//     past: the process before it has ended, and the connection to it with it.
//   - at most so many processes are remembered for a member; the oldest is forgotten, and is found out anew when it dials.

import type { MemberId } from '../core/types.js'
import type { PeerInfo } from './transport.js'

const MOST_OF_A_MEMBER = 16

/** Who answers at a member's address, and which address that is. */
export interface Answering {
  readonly info: PeerInfo
  readonly url: string
}

export class SecondProcesses {
  /** Boots that dialled while another one answered at the member's address. The newest last. */
  readonly #boots = new Map<MemberId, readonly number[]>()

  note({ id, boot }: PeerInfo): void {
    const others = (this.#boots.get(id) ?? []).filter((one) => one !== boot)
    this.#boots.set(id, [...others, boot].slice(-MOST_OF_A_MEMBER))
  }

  /** That member has another address now, or is none any more. */
  forget(id: MemberId): void {
    this.#boots.delete(id)
  }

  /** Why that process is not the member that it says to be; undefined: it is, or nobody else is known to be. */
  why(info: PeerInfo, answering: Answering | undefined): string | undefined {
    if (answering === undefined || answering.info.boot === info.boot) return undefined
    if (this.#boots.get(info.id)?.includes(info.boot) !== true) return undefined
    return `two processes are member ${info.id}: another one answers at its address ${answering.url}. This one runs on a copy of its directory, or elsewhere than the members' list says: stop it`
  }
}
