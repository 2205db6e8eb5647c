// Rule: decides which of two processes that claim to be the same member is the member. This happens if an
// operator starts a copy of a member's directory. The cluster, the id and the incarnation are the same in
// both, and only the boot number differs.
//
// Laws
//   - the member is the process that answers at the member's address in the membership. The other process is
//     refused, and the logs of both processes name the refused process. Without this law: each new connection
//     of one process closes the connection of the other, which dials again at once. Both processes lose their
//     connections again and again, and no log says why.
//   - a process is refused only while another one is connected at that address. So a member that
//     was restarted is never refused because of its old process: the old process has ended, and the
//     connection of the old process has closed.
//   - a limited number of processes is remembered for each member. The process that was seen first is
//     forgotten, and is recognized again when it dials.

import type { MemberId } from '../core/types.js'
import type { PeerInfo } from './transport-interface.js'

const MOST_OF_A_MEMBER = 16

/** The process that answers at a member's address, with that address. */
export interface Answering {
  readonly info: PeerInfo
  readonly url: string
}

export class SecondProcesses {
  /**
   * The boot numbers of processes that dialled while another process answered at the member's address. The
   * newest is the last.
   */
  readonly #boots = new Map<MemberId, readonly number[]>()

  note({ id, boot }: PeerInfo): void {
    const others = (this.#boots.get(id) ?? []).filter((one) => one !== boot)
    this.#boots.set(id, [...others, boot].slice(-MOST_OF_A_MEMBER))
  }

  /** Called when that member has a new address or was removed. */
  forget(id: MemberId): void {
    this.#boots.delete(id)
  }

  /**
   * Returns why that process is not the member that it claims to be, or undefined if it may be the member.
   */
  why(info: PeerInfo, answering: Answering | undefined): string | undefined {
    if (answering === undefined || answering.info.boot === info.boot) return undefined
    if (this.#boots.get(info.id)?.includes(info.boot) !== true) return undefined
    return `two processes are member ${info.id}: another one answers at its address ${answering.url}. This one runs on a copy of its directory, or elsewhere than the members' list says: stop it`
  }
}
