// Driver: the state that the commands of a trace change: the members, the text printed so far, and the
// links that are cut.

import type { Random } from '@latchkey/base'
import type { Effect, MemberId, Membership, Message } from '../index.js'
import { printEffect, printMessage } from './effects-as-text.js'
import { type Member, World } from './group-of-cores.js'

export const TICK = 10

/**
 * Gives every member a fixed election timeout: 1.1 s for the first member, 1.2 s for the second, and 0.1 s
 * more for each further member.
 */
const steady = (place: number): Random => ({
  next: () => 0,
  float: () => 0,
  between: (low, high) => low + Math.floor(((high - low) * place) / 10),
  chance: () => false,
  pick: (items) => items[0] as (typeof items)[number],
  fork: () => steady(place),
})

export class Stage {
  readonly world = new World((id, effect) => this.#told(id, effect))
  readonly cuts = new Set<string>()
  #lines: string[] = []
  #quiet = false

  say(line: string): void {
    if (!this.#quiet) this.#lines.push(line)
  }

  take(): string[] {
    const lines = this.#lines
    this.#lines = []
    return lines
  }

  hush(quiet: boolean): void {
    this.#quiet = quiet
  }

  #told(id: MemberId, effect: Effect): void {
    this.say(`${id}: ${printEffect(effect)}`)
  }

  random(): Random {
    return steady(this.world.members.size + 1)
  }

  live(id: MemberId): Member {
    return this.world.member(id)
  }

  ids(): MemberId[] {
    return [...this.world.members.keys()]
  }

  /** Returns the messages that are not delivered yet, on one link or on all links. */
  onTheWay(way: string | undefined, count = Number.POSITIVE_INFINITY): Message[] {
    const found = this.world.network.filter((m) => way === undefined || `${m.from}->${m.to}` === way)
    return found.slice(0, count)
  }

  remove(messages: readonly Message[]): void {
    this.world.network = this.world.network.filter((m) => !messages.includes(m))
  }

  deliver(messages: readonly Message[]): void {
    this.remove(messages)
    for (const message of messages) {
      if (this.cuts.has(`${message.from}->${message.to}`)) continue
      if (this.world.members.get(message.to)?.raft === undefined) continue
      this.say(`${printMessage(message)}`)
      this.world.call(message.to, (raft, now) => raft.step(message, now))
      this.#sayRefusal(message.to)
    }
  }

  #sayRefusal(id: MemberId): void {
    const refused = this.live(id).raft?.state.refused
    if (refused === undefined || refused.count === 0) return
    this.say(`${id}: refuses it: ${refused.last}`)
    refused.count = 0
  }

  /** Syncs and delivers alternately until nothing is left to sync or to deliver. */
  settle(): void {
    for (let i = 0; i < 1000; i++) {
      const writing = this.ids().filter((id) => this.live(id).writes.length > 0)
      for (const id of writing) this.world.sync(id)
      if (writing.length === 0 && this.world.network.length === 0) return
      this.deliver([...this.world.network])
    }
    throw new Error('a trace does not settle')
  }

  wait(id: MemberId, ms: number): void {
    const member = this.live(id)
    const end = member.now + ms
    while (member.now < end) {
      member.now = Math.min(end, member.now + TICK)
      this.world.call(id, (raft, now) => raft.tick(now))
    }
  }
}

export function membersOfGroup(voters: readonly MemberId[], learners: readonly MemberId[]): Membership {
  const ids = [...voters, ...learners]
  return { voters, outgoing: [], learners, learnersNext: [], peers: addresses(ids) }
}

export const addresses = (ids: readonly MemberId[]) =>
  Object.fromEntries(ids.map((id) => [id, { url: `ws://${id}`, incarnation: '' }]))
