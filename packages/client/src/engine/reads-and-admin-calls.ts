// Driver: reads, and calls about the cluster. They have no number: a read is asked until it is answered; what changes the cluster
// is sent once.
//
// Law: what waits here is woken: by a link or a leader, by an answer that makes room, or by a timer. Whoever puts something here
// when the next word of the link may never come, or makes room without a word, sets that timer.

import { type Answer, type AnswerReply, LatchkeyError, errorOf } from '@latchkey/protocol'
import type { Call, Live } from './call.js'
import type { PendingCalls } from './pending-calls.js'
import { judgeAdmin, judgeRead, lostSight, viewLost } from './outcomes.js'
import type { ActiveLink } from './active-link.js'
import { Queue } from './fifo-queue.js'

/** Unanswered at once; more wait here. */
const IN_FLIGHT = 8_192
/** Waiting: ERR_BUSY beyond. */
const WAITING = 65_536

export class ReadsAndAdminCalls {
  readonly #activeLink: ActiveLink
  readonly #pendingCalls: PendingCalls
  /** Those that need a leader, and those that need only a link. */
  readonly #linear = new Queue<Call>()
  readonly #anywhere = new Queue<Call>()

  constructor(activeLink: ActiveLink, pendingCalls: PendingCalls) {
    this.#activeLink = activeLink
    this.#pendingCalls = pendingCalls
  }

  submit(call: Call): void {
    const live = this.#place(call)
    if (live && live.inflight.size < IN_FLIGHT && this.#queueOf(call).length === 0) this.#send(live, call)
    else if (call.home && !call.home.open) this.#pendingCalls.tell(call, viewLost())
    else this.#wait(call)
  }

  #wait(call: Call): void {
    const queue = this.#queueOf(call)
    if (queue.length < WAITING) queue.push(call)
    else this.#pendingCalls.tell(call, new LatchkeyError('ERR_BUSY'))
  }

  #queueOf(call: Call): Queue<Call> {
    return needsLeader(call) ? this.#linear : this.#anywhere
  }

  #place(call: Call): Live | undefined {
    if (call.home) return call.home.open ? call.home : undefined
    return needsLeader(call) ? this.#activeLink.leading : this.#activeLink.local
  }

  /** Something may go now. */
  pump(): void {
    this.#drain(this.#anywhere, this.#activeLink.local)
    this.#drain(this.#linear, this.#activeLink.leading)
  }

  #drain(queue: Queue<Call>, live: Live | undefined): void {
    while (live && live.inflight.size < IN_FLIGHT) {
      const call = queue.shift()
      if (!call) return
      if (!call.settled) this.#send(live, call)
    }
  }

  #send(live: Live, call: Call): void {
    const { payload } = call
    const id = this.#activeLink.nextId()
    if (payload.what === 'read')
      this.#activeLink.send(live, call, { kind: 'read', id, stale: payload.stale, read: payload.read })
    else if (payload.what === 'admin')
      this.#activeLink.send(live, call, { kind: 'admin', id, call: payload.call, args: payload.args })
  }

  received(live: Live, call: Call, reply: AnswerReply): void {
    if (call.live !== live || call.id !== reply.id) return this.#late(live, call, reply)
    const answer = this.#activeLink.received(live, call, reply)
    if (call.settled) return
    if (this.#judge(call, answer, reply.never) === 'again') {
      call.refusal = errorOf(answer)
      if (call.home) return this.#pendingCalls.tell(call, viewLost())
      this.#queueOf(call).push(call)
      this.#activeLink.later()
      return
    }
    this.#activeLink.wentWell()
    this.#pendingCalls.answer(call, answer)
    if (this.#linear.length > 0 || this.#anywhere.length > 0) this.pump()
  }

  /** To an attempt on a link that was left, while another one is under way or due. */
  #late(live: Live, call: Call, reply: AnswerReply): void {
    const answer = this.#activeLink.late(live, call, reply)
    if (call.settled || this.#judge(call, answer, reply.never) === 'again') return
    this.#activeLink.leave(call)
    call.answeredBy = live
    this.#pendingCalls.answer(call, answer)
  }

  #judge(call: Call, answer: Answer, never: boolean) {
    return call.payload.what === 'admin'
      ? judgeAdmin(answer, never, call.payload.changes)
      : judgeRead(answer, never)
  }

  /** The link on which it was asked is gone. */
  lost(call: Call, reason: Error): void {
    call.live = undefined
    if (call.settled) return
    if (call.home) this.#pendingCalls.tell(call, viewLost())
    else if (call.payload.what === 'admin' && call.payload.changes)
      this.#pendingCalls.tell(call, lostSight(reason))
    else this.#queueOf(call).push(call)
  }

  /** The link on which it was asked was left. What is open there is there alone, and what changes the cluster is sent once. */
  left(call: Call): void {
    if (call.settled || call.home || (call.payload.what === 'admin' && call.payload.changes)) return
    // The own member's link stays, and answers what needs no leader.
    if (!needsLeader(call) && call.live === this.#activeLink.home) return
    this.#activeLink.leave(call)
    this.#queueOf(call).push(call)
  }

  gaveUp(call: Call): void {
    const { live } = call
    if (!live) return this.#queueOf(call).forget((other) => other.settled)
    call.live = undefined
    live.inflight.delete(call.id)
    this.#activeLink.settle(live)
    // There is room for one that waits, and no answer may come any more that would say so.
    if (this.#linear.length > 0 || this.#anywhere.length > 0) this.#activeLink.later()
  }

  /** What waits and is picked: it waits here no longer. */
  take(isPicked: (call: Call) => boolean): Call[] {
    const all = [...this.#linear.takeAll(), ...this.#anywhere.takeAll()]
    for (const call of all) if (!isPicked(call)) this.#queueOf(call).push(call)
    return all.filter(isPicked)
  }
}

/** Those of a frozen view find everything on their link. */
const needsLeader = ({ payload, home }: Call) => payload.what === 'read' && !payload.stale && !home
