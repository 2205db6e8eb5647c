// Rule: a law of progress: a connected client with answered renewals keeps its hold. The law is broken if a
// hold is lost although the answers prove that it is in force. The code shares nothing with the checked code.

import { elapsed, type Instant, text } from '@latchkey/base'
import {
  decodeAnswer,
  decodeCommand,
  isBadCommand,
  type LinkReply,
  type LinkRequest,
  OP,
  OWNER_CODES,
  type RenewalArg,
  type RenewResult,
  renewedOwners,
} from '@latchkey/protocol'
import type { HostProcess } from '@latchkey/raft/memory'
import { LawBroken } from '../../laws/verdict.js'

const KEPT = OWNER_CODES.indexOf('KEEP_LEASE')
/** In ms, the tolerance for rounding and timers. */
const SLACK = 5
/**
 * In ms. The three clocks of a machine may differ by this much. After a suspension or a change of a clock the
 * difference is larger, and a hold may be lost.
 */
const AGREE = 20

interface Asked {
  readonly call: string
  readonly list: readonly RenewalArg[]
  /** The moment of the first attempt of the call. */
  readonly sentAt: Instant
}

interface Process {
  readonly firsts: Map<string, Instant>
  readonly open: Map<number, Asked>
  readonly answered: Set<string>
  readonly proofs: { readonly time: number; readonly sentAt: Instant }[]
}

interface Watched {
  readonly name: string
  readonly life: HostProcess
  readonly held: () => boolean
  /** The deadline that answered renewals have proved, or 0. */
  deadline: number
}

export class RenewedHolds {
  readonly #rate: number
  readonly #processes = new Map<HostProcess, Process>()
  readonly #watched = new Map<string, Watched>()
  judged = 0

  constructor(drift: number) {
    this.#rate = (1 + drift) / (1 - drift)
  }

  /** A client with connections has a hold that it renews. */
  began(name: string, life: HostProcess, key: string, token: number, held: () => boolean): void {
    this.#watched.set(`${key}/${token}`, { name, life, held, deadline: 0 })
  }

  /** Called before the holder releases the hold. */
  leaves(key: string, token: number): void {
    this.#watched.delete(`${key}/${token}`)
  }

  asked(life: HostProcess, request: LinkRequest): void {
    if (request.kind !== 'command' || request.number === 0) return
    const command = decodeCommand(request.body)
    if (isBadCommand(command) || command[0] !== OP.renew) return
    const process = this.#processOf(life)
    const call = `${request.session}/${request.number}`
    const sentAt = process.firsts.get(call) ?? life.clock.instant()
    process.firsts.set(call, sentAt)
    process.open.set(request.id, { call, list: command[1], sentAt })
  }

  #processOf(life: HostProcess): Process {
    const known = this.#processes.get(life)
    if (known !== undefined) return known
    const made: Process = { firsts: new Map(), open: new Map(), answered: new Set(), proofs: [] }
    this.#processes.set(life, made)
    return made
  }

  /** Called before the client receives this answer. */
  answered(life: HostProcess, reply: LinkReply): void {
    if (reply.kind !== 'answer' || reply.never) return
    const process = this.#processes.get(life)
    const asked = process?.open.get(reply.id)
    if (process === undefined || asked === undefined) return
    process.open.delete(reply.id)
    // Holds that have ended are judged without this answer, because the answer is too late for them.
    this.look()
    const [code, result] = reply.answer instanceof Uint8Array ? decodeAnswer(reply.answer) : reply.answer
    if (code !== 0 || process.answered.has(asked.call)) return
    process.answered.add(asked.call)
    const now = life.clock.instant()
    renewedOwners(asked.list, result as RenewResult).forEach((owner, i) => {
      const [key, , token, lease] = asked.list[i] as RenewalArg
      const id = `${text(key)}/${token}`
      const one = this.#watched.get(id)
      if (one?.life !== life) return
      // A member has refused the renewal, or no call waits for this answer. Another answer must prove the
      // hold.
      if (owner[6] !== KEPT) this.#watched.delete(id)
      else if (one.held() && elapsed(asked.sentAt, now) < lease)
        one.deadline = Math.max(one.deadline, owner[1])
    })
    if (reply.time > 0) process.proofs.push({ time: reply.time, sentAt: asked.sentAt })
  }

  look(): void {
    for (const [id, one] of this.#watched) {
      if (one.life.dead) this.#watched.delete(id)
      else if (one.life.running && !one.held()) {
        this.#watched.delete(id)
        this.#judge(id, one)
      }
    }
  }

  #judge(id: string, { name, life, deadline }: Watched): void {
    if (deadline === 0) return
    this.judged++
    const now = life.clock.instant()
    let upper = Number.POSITIVE_INFINITY
    // A client keeps the proof with the lowest bound. If the clocks differ, another proof may later have a
    // lower bound.
    let differ = 0
    for (const { time, sentAt } of this.#processOf(life).proofs) {
      const past = elapsed(sentAt, now)
      differ = Math.max(differ, past - (now.hr - sentAt.hr))
      if (differ > AGREE) return
      upper = Math.min(upper, time + past * this.#rate)
    }
    const left = deadline - upper
    if (left > SLACK + differ)
      throw new LawBroken(
        'renewed holds',
        `${name} lost ${id} with ${Math.floor(left)} ms left by the answers that came`,
      )
  }
}
