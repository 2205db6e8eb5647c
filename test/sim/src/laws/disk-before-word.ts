// Rule: a vote or an acknowledgement is sent only after the promised data is durable.

import type { Message } from '@latchkey/raft/core'
import { LawBroken } from './verdict.js'
import type { MakeLaw } from './law.js'
import type { ObservedMember } from './observed-cluster.js'

const name = 'disk-before-word'

export const diskBeforeWord: MakeLaw = (cluster) => {
  const term = (member: ObservedMember, message: Message) => {
    if (message.term > member.durableHard.term) {
      throw new LawBroken(
        name,
        `${member.id} answers in term ${message.term} with term ${member.durableHard.term} on disk`,
      )
    }
  }
  const matched = (member: ObservedMember, message: Message, match: number) => {
    const leader = cluster.member(message.to)
    // Another member that leads now at this address does not count this acknowledgement.
    if (leader.role !== 'leader' || leader.term !== message.term) return
    const wanted = leader.live.termAt(match)
    if (wanted === undefined || cluster.keeps(member, match, wanted)) return
    throw new LawBroken(
      name,
      `${member.id} acknowledges ${match} to ${message.to} (term ${wanted} there), its disk has term ${member.disk.termAt(match)}`,
    )
  }
  return {
    name,
    sending(member, message) {
      if (message.type === 'vote') {
        // A candidate has stored the term and its own vote before it asks for votes (E4).
        const { term: durable, vote } = member.durableHard
        if (durable > message.term || (durable === message.term && vote === member.id)) return
        throw new LawBroken(
          name,
          `${member.id} asks for term ${message.term}; its disk says ${vote} in ${durable}`,
        )
      }
      if (message.type === 'voteReply' && message.granted) {
        term(member, message)
        const { term: durable, vote } = member.durableHard
        if (durable === message.term && vote !== message.to) {
          throw new LawBroken(
            name,
            `${member.id} grants ${message.to} term ${message.term}; its disk says ${vote}`,
          )
        }
      } else if (message.type === 'appendReply' && message.ok) {
        term(member, message)
        matched(member, message, message.match)
      } else if (message.type === 'heartbeatReply') {
        matched(member, message, message.match)
      }
    },
  }
}
