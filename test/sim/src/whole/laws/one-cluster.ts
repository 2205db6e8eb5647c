// Rule: no member of another cluster serves a client of this cluster (M22, C30). The cluster of the world is
// the first one that answers.

import { decodeAnswer, isError, type LinkReply } from '@latchkey/protocol'
import { LawBroken } from '../../laws/verdict.js'

export class OneClusterLaw {
  #clusterId: string | undefined
  /**
   * The last cluster id that each member reported. A member that has ended reports none, but its answers may
   * still arrive.
   */
  readonly #known = new WeakMap<object, string>()

  answered(
    client: string,
    member: { readonly id: string; readonly clusterId: string },
    reply: LinkReply,
  ): void {
    if (member.clusterId !== '') this.#known.set(member, member.clusterId)
    const clusterId = this.#known.get(member)
    if (reply.kind !== 'answer' || clusterId === undefined) return
    const answer = reply.answer instanceof Uint8Array ? decodeAnswer(reply.answer) : reply.answer
    if (isError(answer)) return
    this.#clusterId ??= clusterId
    if (clusterId !== this.#clusterId)
      throw new LawBroken(
        'one cluster',
        `${client} was served by ${member.id} of cluster ${clusterId}, and not of ${this.#clusterId}`,
      )
  }
}
