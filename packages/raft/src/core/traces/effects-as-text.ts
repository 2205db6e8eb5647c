// Rule: writes effects and messages as lines of text that a reader who knows Raft understands.

import { describeEntry, describeMembership } from '../state-as-text.js'
import type { Effect, Entry, LogPosition, Message, PersistBatch } from '../index.js'

const at = ({ index, term }: LogPosition): string => `${index}/t${term}`

export function printMessage(m: Message): string {
  return `${m.from}->${m.to} ${m.type} t${m.term}${printBody(m)}`
}

function printBody(m: Message): string {
  switch (m.type) {
    case 'preVote':
      return ` log ${m.lastIndex}/t${m.lastTerm}`
    case 'vote':
      return ` log ${m.lastIndex}/t${m.lastTerm}${m.transfer ? ' (transfer)' : ''}`
    case 'preVoteReply':
      return ` ${m.granted ? 'yes' : 'no'} to t${m.campaignTerm}`
    case 'voteReply':
      return m.granted ? ' yes' : ' no'
    case 'append':
      return ` prev ${m.prevIndex}/t${m.prevTerm} commit ${m.commit}${round(m.round)}${entries(m.entries)}`
    case 'appendReply':
      return m.ok
        ? ` match ${m.match}${round(m.round)}`
        : ` rejects ${m.rejected}, hint ${m.hintIndex}/t${m.hintTerm}${round(m.round)}`
    case 'heartbeat':
      return ` commit ${m.commit}${round(m.round)}`
    case 'heartbeatReply':
      return ` match ${m.match}${round(m.round)}`
    case 'storedByAll':
      return ` up to ${m.index}`
    case 'snapshot':
      return ` of ${at(m.position)} from ${m.offset}: ${m.chunk.length}B${m.done ? ', the last' : ''}`
    case 'snapshotReply':
      return ` of ${at(m.position)} ${m.installed ? 'installed' : `holds ${m.offset}B`}`
    case 'timeoutNow':
      return ''
    case 'readIndex':
      return ` #${m.context}`
    case 'readIndexReply':
      return ` #${m.context} ${m.index === undefined ? 'ask again' : `index ${m.index} time ${m.time}`}`
  }
}

const round = (value: number) => (value === 0 ? '' : ` round ${value}`)

function entries(list: readonly Entry[]): string {
  const [first] = list
  const last = list.at(-1)
  if (first === undefined || last === undefined) return ''
  if (list.length <= 3) return ` [${list.map(describeEntry).join(', ')}]`
  return ` [${describeEntry(first)} .. ${describeEntry(last)}]`
}

export function printEffect(effect: Effect): string {
  switch (effect.type) {
    case 'send':
      return `send ${printMessage(effect.message)}`
    case 'persist':
      return `persist #${effect.batch.id}${printBatch(effect.batch)}`
    case 'commit':
      return `apply ${effect.from === effect.to ? effect.from : `${effect.from}..${effect.to}`}`
    case 'read':
      return `read ${effect.context}: ${
        effect.index === undefined ? 'ask again' : `at ${effect.index}, time ${effect.time}`
      }`
    case 'role':
      return `${effect.role} of t${effect.term}, leader ${effect.leader ?? '-'}`
    case 'membership':
      return `members @${effect.index}${effect.committed ? ' committed' : ''}: ${describeMembership(effect.membership)}`
    case 'readSnapshot':
      return `wants the snapshot for ${effect.to} from ${effect.offset}${
        effect.position === undefined ? '' : ` of ${at(effect.position)}`
      }`
    case 'endSnapshot':
      return `is done with the snapshot for ${effect.to}`
    case 'rolledBack':
      return `finds ${effect.id} rolled back: acknowledged ${effect.acknowledged}, holds ${effect.holds}`
    case 'stageSnapshot':
      return `stage ${at(effect.position)} from ${effect.offset}: ${effect.chunk.length}B${effect.done ? ', install' : ''}`
  }
}

function printBatch({ hardState, truncateFrom, entries: list, restartAfter }: PersistBatch): string {
  const parts: string[] = []
  if (restartAfter !== undefined) parts.push(` restart behind ${at(restartAfter.position)}`)
  if (truncateFrom !== undefined) parts.push(` cut from ${truncateFrom}`)
  if (list.length > 0) parts.push(entries(list))
  if (hardState !== undefined) parts.push(` t${hardState.term} vote ${hardState.vote ?? '-'}`)
  return parts.join(',')
}
