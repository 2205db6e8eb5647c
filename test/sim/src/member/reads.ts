// Driver: linearizable reads: confirmed by a leader, then waiting until that index is applied here (R4).

import type { Effect } from '@latchkey/raft/core'
import type { MemberParts } from './parts.js'
import type { Request } from './port.js'

interface Reading {
  readonly request: Request
  readonly startedAt: number
  index: number | undefined
  time: number
}

export class Reads {
  readonly #member: MemberParts
  readonly #reads = new Map<number, Reading>()
  #contexts = 0

  constructor(member: MemberParts) {
    this.#member = member
  }

  start(request: Request, now: number): readonly Effect[] {
    const context = ++this.#contexts
    this.#reads.set(context, { request, startedAt: now, index: undefined, time: 0 })
    return this.#member.raft.read(context, now)
  }

  confirmed(context: number, index: number | undefined, time: number): void {
    const reading = this.#reads.get(context)
    if (reading === undefined) return
    if (index === undefined) {
      this.#reads.delete(context)
      this.#refuse(reading)
      return
    }
    reading.index = index
    reading.time = time
    this.#serve(context, reading)
  }

  serve(): void {
    for (const [context, reading] of this.#reads) this.#serve(context, reading)
  }

  /** What nobody confirmed in time is refused: a read changes nothing, so the client may ask again. */
  dropOld(now: number): void {
    const limit = this.#member.options.electionTimeout * 2
    for (const [context, reading] of this.#reads) {
      if (now - reading.startedAt <= limit) return
      this.#reads.delete(context)
      this.#refuse(reading)
    }
  }

  #serve(context: number, { request, index, time }: Reading): void {
    const { host, machine, applied } = this.#member
    if (index === undefined || applied < index) return
    this.#reads.delete(context)
    host.watcher.served({ member: host.id, index, time, sentAt: request.sentAt, floor: request.floor })
    host.answer(request, { type: 'done', value: machine.read(request.key), swapped: true })
  }

  #refuse({ request }: Reading): void {
    this.#member.host.answer(request, { type: 'refused', leader: this.#member.raft.leader })
  }
}
