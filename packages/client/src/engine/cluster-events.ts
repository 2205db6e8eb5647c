// Rule: what changed between two words of a member about its cluster, as the events of a store.

import type { Emitter } from '@latchkey/base'
import type { LeaderReply, MemberTuple, Status, StoreEvents } from '@latchkey/protocol'

export function leaderEvents(
  before: LeaderReply | undefined,
  now: LeaderReply,
  events: Emitter<StoreEvents>,
): void {
  if (before?.id !== now.id || before?.term !== now.term)
    events.emit('leader', { id: now.id, term: now.term })
  if (before?.role !== now.role || before?.self !== now.self)
    events.emit('role', { role: now.role as Status['role'], term: now.term })
  if (before) for (const event of memberEvents(before.members, now.members)) events.emit('member', event)
}

function memberEvents(before: readonly MemberTuple[], now: readonly MemberTuple[]): StoreEvents['member'][] {
  const old = new Map(before.map((member) => [member[0], member]))
  const events: StoreEvents['member'][] = []
  for (const [id, url, role] of now) {
    const known = old.get(id)
    old.delete(id)
    if (!known) events.push({ id, change: 'added' })
    else if (known[2] === 'learner' && role === 'voter') events.push({ id, change: 'promoted' })
    else if (known[1] !== url) events.push({ id, change: 'updated' })
  }
  for (const id of old.keys()) events.push({ id, change: 'removed' })
  return events
}
