// Rule: a client of one cluster is served by no member of another (M22, C30). The cluster of the world is the first that answers.

import { decodeAnswer, isError, type LinkReply } from '@latchkey/protocol'
import { Broken } from './broken.js'

export class OneClusterLaw {
  #clusterId: string | undefined

  answered(
    client: string,
    member: { readonly id: string; readonly clusterId: string },
    reply: LinkReply,
  ): void {
    if (reply.kind !== 'answer' || member.clusterId === '') return
    const answer = reply.answer instanceof Uint8Array ? decodeAnswer(reply.answer) : reply.answer
    if (isError(answer)) return
    this.#clusterId ??= member.clusterId
    if (member.clusterId !== this.#clusterId)
      throw new Broken(
        'one cluster',
        `${client} was served by ${member.id} of cluster ${member.clusterId}, and not of ${this.#clusterId}`,
      )
  }
}
