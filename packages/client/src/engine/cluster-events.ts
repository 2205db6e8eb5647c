// Rule: makes the events of a store, from the differences between two reports of a member, and from the state
// of the connection.

import type { Emitter } from '@latchkey/base'
import type { LeaderReply, MemberTuple, Status, StoreEvents } from '@latchkey/protocol'

const EVERYWHERE = ['leader', 'role', 'member'] as const
export const REMOTE_EVENTS = [...EVERYWHERE, 'connected', 'disconnected', 'moved'] as const
export const EMBEDDED_EVENTS = [...EVERYWHERE, 'quorum'] as const

/** Makes the events about the connection of a remote store. An embedded store has no such events. */
export class LinkEvents {
  readonly #events: Emitter<StoreEvents>
  #url: string | undefined

  constructor(events: Emitter<StoreEvents>) {
    this.#events = events
  }

  active(url: string | undefined): void {
    const before = this.#url
    if (url === undefined || url === before) return
    this.#url = url
    if (before === undefined) this.#events.emit('connected', { url })
    else this.#events.emit('moved', { from: before, to: url })
  }

  lost(url: string | undefined, error: Error): void {
    if (url === undefined || url !== this.#url) return
    this.#url = undefined
    this.#events.emit('disconnected', { url, error })
  }
}

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
