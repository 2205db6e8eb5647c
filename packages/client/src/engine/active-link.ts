// Driver: what calls share: the link in use, ids, instants, and the pause before something is tried again.

import type { Clock, Instant, Random, Timer } from '@latchkey/base'
import type { ClusterBound } from '@latchkey/lock'
import { type Answer, type AnswerReply, type LinkRequest, decodeAnswer } from '@latchkey/protocol'
import type { Call, Live } from './call.js'
import type { Router } from './router.js'
import { SendTimes } from './send-times.js'

const LEAST_PAUSE = 8
const MOST_PAUSE = 250

export class ActiveLink {
  readonly clock: Clock
  readonly bound: ClusterBound
  readonly #random: Random
  readonly #sendTimes: SendTimes
  readonly #router: () => Router
  readonly #resume: () => void
  #ids = 0
  #pause = LEAST_PAUSE
  #timer: Timer | undefined
  #learnedTime = 0
  #learnedFrom: Instant | undefined

  constructor(clock: Clock, random: Random, bound: ClusterBound, router: () => Router, resume: () => void) {
    this.clock = clock
    this.bound = bound
    this.#random = random
    this.#sendTimes = new SendTimes(clock)
    this.#router = router
    this.#resume = resume
  }

  get link(): Live | undefined {
    return this.#router().active
  }

  /** Of an embedded store: the link to its own member. */
  get home(): Live | undefined {
    return this.#router().home
  }

  /** The link for what needs no leader: an embedded store asks its own member. */
  get local(): Live | undefined {
    return this.home ?? this.link
  }

  /** The link, where a leader is known behind it. */
  get leading(): Live | undefined {
    const live = this.#router().active
    return live?.leader?.id === undefined ? undefined : live
  }

  /** Of links, attempts and watches alike: never given twice, so that a late word can never meet another's ear (C5). */
  nextId(): number {
    return ++this.#ids
  }

  now(): Instant {
    return this.#sendTimes.take()
  }

  send(live: Live, call: Call, request: LinkRequest & { readonly id: number }): void {
    call.id = request.id
    call.live = live
    call.sentAt ??= this.#sendTimes.take()
    live.inflight.add(request.id, call)
    live.link?.send(request)
    this.#router().asked(live)
  }

  /** Something is awaited there that nobody answers for: events. */
  awaited(live: Live): void {
    this.#router().asked(live)
  }

  /** The attempt goes on where it was sent, but nobody counts on it: the call is free to be sent anew. */
  leave(call: Call): void {
    const { live, id } = call
    if (live === undefined) return
    call.live = undefined
    call.earlier ??= []
    call.earlier.push({ live, id })
  }

  /** The answer to an attempt that was left. What it proves counts as ever: its request was sent no sooner than the call's first. */
  late(live: Live, call: Call, reply: AnswerReply): Answer {
    live.inflight.delete(reply.id)
    call.earlier = call.earlier?.filter((one) => one.id !== reply.id)
    return this.#taken(call, reply)
  }

  /** The call is over: nobody waits for its earlier attempts. */
  forget(call: Call): void {
    for (const { live, id } of call.earlier ?? []) {
      live.inflight.delete(id)
      this.settle(live)
    }
    call.earlier = undefined
  }

  /** The answer to an attempt: the attempt is over, and what the answer proves of the time is learned (CT5). */
  received(live: Live, call: Call, reply: AnswerReply): Answer {
    live.inflight.delete(reply.id)
    call.live = undefined
    call.answeredBy = live
    return this.#taken(call, reply)
  }

  #taken(call: Call, reply: AnswerReply): Answer {
    if (reply.time > 0 && call.sentAt) this.#learn(reply.time, call.sentAt)
    return reply.answer instanceof Uint8Array ? decodeAnswer(reply.answer) : reply.answer
  }

  /** One entry answers hundreds of calls of one turn: they all prove the same. */
  #learn(time: number, sentAt: Instant): void {
    if (time === this.#learnedTime && sentAt === this.#learnedFrom) return
    this.#learnedTime = time
    this.#learnedFrom = sentAt
    this.bound.learn(time, sentAt, this.#sendTimes.take())
  }

  /** Something could not be handed on: everything that waits is tried again in a while, later each time. */
  later(): void {
    if (this.#timer) return
    const pause = this.#pause * (0.5 + this.#random.float())
    this.#pause = Math.min(MOST_PAUSE, this.#pause * 2)
    this.#timer = this.clock.after(pause, () => {
      this.#timer = undefined
      this.#resume()
    })
  }

  /** Something went well. */
  wentWell(): void {
    this.#pause = LEAST_PAUSE
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  settle(live: Live): void {
    if (live !== this.#router().active) this.#router().settle(live)
  }
}
