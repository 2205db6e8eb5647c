// Rule: decides which of two processes that claim to be one member is refused. Two such processes run if an
// operator starts a copy of a member's directory. Both processes send the same cluster, member id and
// incarnation (the random id of the data directory). But each process draws another boot number at its start.
//
// Laws
//   - the process that answers at the member's address in the membership is the member. The other process is
//     refused, and both processes log which process is refused. Without this law: each new connection of one
//     process closes the connection of the other process, which dials again. Both processes lose their
//     connections again and again, and no log says why.
//   - a process is refused only while another process is connected at the member's address. So a restarted
//     member is not refused because of its old process, whose connection has closed.
//   - at most MOST_OF_A_MEMBER boot numbers are remembered for each member. A forgotten number is noted again
//     when its process dials.

import type { MemberId } from '../core/types.js'
import type { PeerInfo } from './transport-interface.js'

const MOST_OF_A_MEMBER = 16

export interface Answering {
  readonly info: PeerInfo
  readonly url: string
}

export class DuplicateProcesses {
  /**
   * For each member: the boot numbers of processes that dialled this member while another process answered at
   * the member's address. The newest is the last.
   */
  readonly #boots = new Map<MemberId, readonly number[]>()

  note({ id, boot }: PeerInfo): void {
    const others = (this.#boots.get(id) ?? []).filter((one) => one !== boot)
    this.#boots.set(id, [...others, boot].slice(-MOST_OF_A_MEMBER))
  }

  /** Called when the member has a new address or was removed. */
  forget(id: MemberId): void {
    this.#boots.delete(id)
  }

  why(info: PeerInfo, answering: Answering | undefined): string | undefined {
    if (answering === undefined || answering.info.boot === info.boot) return undefined
    if (this.#boots.get(info.id)?.includes(info.boot) !== true) return undefined
    return `two processes are member ${info.id}: another one answers at its address ${answering.url}. This one runs on a copy of its directory, or elsewhere than the members' list says: stop it`
  }
}
