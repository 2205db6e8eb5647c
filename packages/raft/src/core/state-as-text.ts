// Rule: writes the state of a core as text, for people, and for the golden files of the tests.

import type { Progress } from './progress.js'
import type { State } from './state.js'
import type { Entry, Membership } from './types.js'

export function describe(state: State): string {
  const lines = [
    describeMember(state),
    `  ${describeLog(state)}`,
    `  ${describeMembership(state.membership)}`,
  ]
  for (const peer of state.leading?.peers ?? []) lines.push(`  ${describeProgress(peer)}`)
  return lines.join('\n')
}

function describeMember(state: State): string {
  const { id, role, term, vote, leader, commit, handedOut } = state
  const durable = state.disk.durable === state.log.lastIndex ? '' : ` durable ${state.disk.durable}`
  const asking = state.campaign?.kind === 'pre' ? ' (pre-vote)' : ''
  return `${id} ${role}${asking} t${term} vote ${vote ?? '-'} leader ${leader ?? '-'} commit ${commit} applied ${handedOut}${durable}`
}

/** Writes the entries of one term as one range: `log 1..3 t1, 4..9 t2`. */
function describeLog({ log }: State): string {
  const runs: string[] = []
  for (let from = log.firstIndex; from <= log.lastIndex; ) {
    const term = log.entry(from).term
    let to = from
    while (log.termAt(to + 1) === term) to++
    runs.push(`${from === to ? from : `${from}..${to}`} t${term}`)
    from = to + 1
  }
  const start = log.start.index === 0 ? '' : ` behind ${log.start.index} t${log.start.term}`
  return `log${start} ${runs.length === 0 ? 'empty' : runs.join(', ')}`
}

export function describeMembership({ voters, outgoing, learners, learnersNext }: Membership): string {
  const parts = [`voters ${voters.join(' ') || '-'}`]
  if (outgoing.length > 0) parts.push(`outgoing ${outgoing.join(' ')}`)
  if (learners.length > 0) parts.push(`learners ${learners.join(' ')}`)
  if (learnersNext.length > 0) parts.push(`then learners ${learnersNext.join(' ')}`)
  return parts.join(', ')
}

function describeProgress(peer: Progress): string {
  const parts = [`${peer.id} ${peer.state} match ${peer.match} next ${peer.next}`]
  if (peer.probing) parts.push('waiting')
  if (peer.window.count > 0) parts.push(`in flight ${peer.window.count}${peer.window.full ? ' (full)' : ''}`)
  if (peer.snapshot !== undefined) parts.push(`snapshot ${peer.snapshot.phase} at ${peer.snapshot.offset}`)
  if (peer.leaving !== undefined) parts.push('leaving')
  return parts.join(', ')
}

export function describeEntry({ index, term, time, kind, data }: Entry): string {
  const what = kind === 'empty' ? '' : kind === 'members' ? ' members' : ` ${data.length}B`
  return `${index}/t${term}@${time}${what}`
}
