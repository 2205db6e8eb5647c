// Driver: owns the parts that all calls of a store share: the link in use, the ids, the send times of
// requests, and the pause before a retry.

import type { Clock, Instant, Random, Timer } from '@latchkey/base'
import type { ClusterTimeBound } from '@latchkey/lock'
import { type Answer, type AnswerReply, type LinkRequest, decodeAnswer } from '@latchkey/protocol'
import type { Call, LinkState } from './call.js'
import type { Router } from './router.js'
import { SendTimes } from './clock-once-per-millisecond.js'
import type { StoreCounts } from './store-metrics.js'

/** In ms: the limits of the pause before refused calls are sent again. */
const LEAST_PAUSE = 8
const MOST_PAUSE = 250

type TracedRequest = Extract<LinkRequest, { kind: 'command' | 'read' | 'admin' }>

export class ActiveLink {
  readonly clock: Clock
  readonly bound: ClusterTimeBound
  readonly counts: StoreCounts
  readonly #random: Random
  readonly #sendTimes: SendTimes
  readonly #router: () => Router
  readonly #resume: () => void
  #ids = 0
  #pause = LEAST_PAUSE
  #timer: Timer | undefined
  #learnedTime = 0
  #learnedFrom: Instant | undefined

  constructor(
    clock: Clock,
    random: Random,
    bound: ClusterTimeBound,
    counts: StoreCounts,
    router: () => Router,
    resume: () => void,
  ) {
    this.clock = clock
    this.counts = counts
    this.bound = bound
    this.#random = random
    this.#sendTimes = new SendTimes(clock)
    this.#router = router
    this.#resume = resume
  }

  get link(): LinkState | undefined {
    return this.#router().active
  }

  get ownLink(): LinkState | undefined {
    return this.#router().ownLink
  }

  /** The link for calls that need no leader. */
  get local(): LinkState | undefined {
    return this.ownLink ?? this.link
  }

  /** The active link, if its member knows a leader. */
  get leading(): LinkState | undefined {
    const live = this.#router().active
    return live?.leader?.id === undefined ? undefined : live
  }

  /**
   * Returns the next id. The attempts of all calls and the watches take their ids from one counter for all
   * links, so no id is used twice. Otherwise a late answer could be taken for the answer to another call
   * (C5).
   */
  nextId(): number {
    return ++this.#ids
  }

  now(): Instant {
    return this.#sendTimes.take()
  }

  send(live: LinkState, call: Call, request: TracedRequest): void {
    call.id = request.id
    call.live = live
    if (call.sentAt === undefined) call.sentAt = this.#sendTimes.take()
    else this.counts.retries++
    live.inflight.add(request.id, call)
    const trace = call.trace?.traceparent
    live.link?.send(trace === undefined ? request : { ...request, trace })
    this.#router().asked(live)
  }

  /**
   * Tells the router that a watch is open on this link. The router then checks that the member is not silent.
   */
  awaited(live: LinkState): void {
    this.#router().asked(live)
  }

  leave(call: Call): void {
    const { live, id } = call
    if (live === undefined) return
    call.live = undefined
    call.earlier ??= []
    call.earlier.push({ live, id })
  }

  /**
   * Takes the answer to an attempt on a link that the store no longer uses. The answer still proves an upper
   * bound of cluster time, because the bound is computed from the time of the call's first attempt.
   */
  late(live: LinkState, call: Call, reply: AnswerReply): Answer {
    live.inflight.delete(reply.id)
    call.earlier = call.earlier?.filter((one) => one.id !== reply.id)
    return this.#taken(call, reply)
  }

  forget(call: Call): void {
    for (const { live, id } of call.earlier ?? []) {
      live.inflight.delete(id)
      this.closeIfDone(live)
    }
    call.earlier = undefined
  }

  received(live: LinkState, call: Call, reply: AnswerReply): Answer {
    live.inflight.delete(reply.id)
    call.live = undefined
    call.answeredBy = live
    return this.#taken(call, reply)
  }

  #taken(call: Call, reply: AnswerReply): Answer {
    if (reply.time > 0 && call.sentAt) this.#learn(reply.time, call.sentAt)
    return reply.answer instanceof Uint8Array ? decodeAnswer(reply.answer) : reply.answer
  }

  /**
   * Learns the upper bound of cluster time that an answer proves. Hundreds of calls may be sent in one turn
   * and applied in one log entry. All their answers prove the same bound, so this method uses the first
   * answer and ignores the others.
   */
  #learn(time: number, sentAt: Instant): void {
    if (time === this.#learnedTime && sentAt === this.#learnedFrom) return
    this.#learnedTime = time
    this.#learnedFrom = sentAt
    this.bound.learn(time, sentAt, this.#sendTimes.take())
  }

  /** Tries all waiting calls again after a pause. The pause doubles each time, up to MOST_PAUSE. */
  later(): void {
    if (this.#timer) return
    const pause = this.#pause * (0.5 + this.#random.float())
    this.#pause = Math.min(MOST_PAUSE, this.#pause * 2)
    this.#timer = this.clock.after(pause, () => {
      this.#timer = undefined
      this.#resume()
    })
  }

  wentWell(): void {
    this.#pause = LEAST_PAUSE
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  closeIfDone(live: LinkState): void {
    if (live !== this.#router().active) this.#router().closeIfDone(live)
  }
}
