// Driver: sends reads and calls about the cluster, which have no call number. A read is sent again until it
// is answered. A call that changes the cluster is sent again only if no member has executed it.
//
// Law: a waiting call is sent after one of four events: a new link, a new leader, an answer that makes room
// for another request, or a timer. Code that adds a waiting call sets the timer, if none of the other three
// events is certain to come.

import { type Answer, type AnswerReply, LatchkeyError, errorOf } from '@latchkey/protocol'
import type { Call, LinkState } from './call.js'
import type { PendingCalls } from './pending-calls.js'
import { judgeAdmin, judgeRead, lostSight, viewLost } from './outcome-of-answer.js'
import type { ActiveLink } from './shared-by-all-calls.js'
import { Queue } from './fifo-queue.js'

/** How many requests of one link may be without an answer. Further calls wait in a queue. */
const IN_FLIGHT = 8_192
/** How many calls may wait in a queue. A further call fails with ERR_BUSY. */
const WAITING = 65_536

export class ReadsAndAdminCalls {
  readonly #activeLink: ActiveLink
  readonly #pendingCalls: PendingCalls
  /** The waiting calls that need a leader. Other waiting calls are in #anywhere. */
  readonly #linear = new Queue<Call>()
  readonly #anywhere = new Queue<Call>()

  constructor(activeLink: ActiveLink, pendingCalls: PendingCalls) {
    this.#activeLink = activeLink
    this.#pendingCalls = pendingCalls
  }

  submit(call: Call): void {
    const live = this.#place(call)
    if (live && live.inflight.size < IN_FLIGHT && this.#queueOf(call).length === 0) this.#send(live, call)
    else if (call.viewLink && !call.viewLink.open) this.#pendingCalls.fail(call, viewLost())
    else this.#wait(call)
  }

  #wait(call: Call): void {
    const queue = this.#queueOf(call)
    if (queue.length < WAITING) queue.push(call)
    else this.#pendingCalls.fail(call, new LatchkeyError('ERR_BUSY'))
  }

  #queueOf(call: Call): Queue<Call> {
    return needsLeader(call) ? this.#linear : this.#anywhere
  }

  #place(call: Call): LinkState | undefined {
    if (call.viewLink) return call.viewLink.open ? call.viewLink : undefined
    return needsLeader(call) ? this.#activeLink.leading : this.#activeLink.local
  }

  pump(): void {
    this.#drain(this.#anywhere, this.#activeLink.local)
    this.#drain(this.#linear, this.#activeLink.leading)
  }

  #drain(queue: Queue<Call>, live: LinkState | undefined): void {
    while (live && live.inflight.size < IN_FLIGHT) {
      const call = queue.shift()
      if (!call) return
      if (!call.settled) this.#send(live, call)
    }
  }

  #send(live: LinkState, call: Call): void {
    const { payload } = call
    const id = this.#activeLink.nextId()
    if (payload.what === 'read')
      this.#activeLink.send(live, call, { kind: 'read', id, stale: payload.stale, read: payload.read })
    else if (payload.what === 'admin')
      this.#activeLink.send(live, call, { kind: 'admin', id, call: payload.call, args: payload.args })
  }

  received(live: LinkState, call: Call, reply: AnswerReply): void {
    if (call.live !== live || call.id !== reply.id) return this.#late(live, call, reply)
    const answer = this.#activeLink.received(live, call, reply)
    if (call.settled) return
    if (this.#judge(call, answer, reply.never) === 'again') {
      call.refusal = errorOf(answer)
      if (call.viewLink) return this.#pendingCalls.fail(call, viewLost())
      this.#queueOf(call).push(call)
      this.#activeLink.later()
      return
    }
    this.#activeLink.wentWell()
    this.#pendingCalls.answer(call, answer)
    if (this.#linear.length > 0 || this.#anywhere.length > 0) this.pump()
  }

  /**
   * Takes the answer to an attempt on a link that the store has left. Another attempt is under way or will be
   * sent.
   */
  #late(live: LinkState, call: Call, reply: AnswerReply): void {
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

  lost(call: Call, reason: Error): void {
    call.live = undefined
    if (call.settled) return
    if (call.viewLink) this.#pendingCalls.fail(call, viewLost())
    else if (call.payload.what === 'admin' && call.payload.changes)
      this.#pendingCalls.fail(call, lostSight(reason))
    else this.#queueOf(call).push(call)
  }

  /**
   * Called when the store has left the link on which the call was sent. A view exists only at that member,
   * and a change of the cluster may already have been executed. So neither a read of a view nor a change of
   * the cluster is sent again.
   */
  left(call: Call): void {
    if (call.settled || call.viewLink || (call.payload.what === 'admin' && call.payload.changes)) return
    // An embedded store keeps the link to its own member open. So a call there that needs no leader is still
    // answered, and is not sent again.
    if (!needsLeader(call) && call.live === this.#activeLink.ownLink) return
    this.#activeLink.leave(call)
    this.#queueOf(call).push(call)
  }

  gaveUp(call: Call): void {
    const { live } = call
    if (!live) return this.#queueOf(call).forget((other) => other.settled)
    call.live = undefined
    live.inflight.delete(call.id)
    this.#activeLink.closeIfDone(live)
    // The end of this call makes room for a waiting call. Waiting calls are otherwise sent when an answer
    // arrives, but perhaps no answer arrives. So a timer sends the waiting calls.
    if (this.#linear.length > 0 || this.#anywhere.length > 0) this.#activeLink.later()
  }

  take(isPicked: (call: Call) => boolean): Call[] {
    const all = [...this.#linear.takeAll(), ...this.#anywhere.takeAll()]
    for (const call of all) if (!isPicked(call)) this.#queueOf(call).push(call)
    return all.filter(isPicked)
  }
}

/** A read of a view needs the link on which the view is open. Such a read needs no leader. */
const needsLeader = ({ payload, viewLink }: Call) => payload.what === 'read' && !payload.stale && !viewLink
