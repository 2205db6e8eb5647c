// Driver: the lock engine on several independent Redis masters, by Redlock's algorithm. A caller holds a lock
// as soon as a majority of the masters has granted the lock. The hold ends before the first of these grants
// ends.
//
// Laws:
// - A hold lasts for its lease, less the allowed drift of the clocks. This time begins before the caller
//   sends its first request. If the last vote for a majority arrives after this time, the caller gives all
//   votes back. Without this law: two of three masters end the hold before its holder knows.
// - A caller without a majority gives its votes back immediately. Without this law: three callers that have
//   one master each block each other for a whole lease. A refused caller asks again after a random time, so
//   that the callers do not collide again.
// - A master extends a hold only if it still has the hold's id. If a master has lost the hold, a renewal does
//   not give the hold back to this master, because the master may have voted for another caller meanwhile.
// - This process counts the acquires of a reentrant lock itself. Without this law: a master misses an
//   acquire, counts too few acquires, and ends the hold at an early release.

import { type Random, seededRandom } from '@latchkey/base'
import type {
  Capabilities,
  EngineHold,
  LockEngine,
  ReleaseAnswer,
  RenewRequest,
  TakeAnswer,
  TakeRequest,
  ClientClock,
} from '@latchkey/lock'
import type { LockInfoResult } from '@latchkey/protocol'
import { type Attempt, Attempts, nameOf } from './unanswered-attempts.js'
import type { Master } from './quorum-master.js'
import { type Votes, vote } from './ask-all-masters.js'

const CAPABILITIES: Capabilities = {
  fencing: 'none',
  queue: 'unfair',
  wakeUp: 'poll',
  survives: 'failover',
  time: 'client',
}
/** In ms, the limits of the random time after which a refused caller asks again. */
const LEAST_PAUSE = 50
const MOST_PAUSE = 250
/**
 * The limit of the random numbers that serve as tokens. The masters share no counter, so tokens cannot rise.
 */
const MOST_TOKEN = 2 ** 48

interface OwnHold extends EngineHold {
  /** The id under which the masters know the hold (see Attempts). */
  readonly vote: string
}

interface QuorumTerms {
  readonly masters: readonly Master[]
  readonly time: ClientClock
  /** The fraction of a lease that its holder may use. The fraction is less than 1, because clocks drift. */
  readonly part: number
  readonly seed: string
}

export class QuorumEngine implements LockEngine {
  readonly capabilities = CAPABILITIES
  readonly #masters: readonly Master[]
  readonly #time: ClientClock
  readonly #part: number
  readonly #random: Random
  readonly #end: () => void
  readonly #holds = new Map<string, OwnHold>()
  readonly #attempts = new Attempts()

  constructor({ masters, time, part, seed }: QuorumTerms, end: () => void) {
    this.#masters = masters
    this.#time = time
    this.#part = part
    this.#random = seededRandom(seed)
    this.#end = end
  }

  async take(request: TakeRequest): Promise<TakeAnswer> {
    const { key, id, lease, before, context } = request
    const begun = this.#time.now()
    if (begun > before) return { now: begun, code: 'LATE', hold: undefined, queued: false }
    this.#forgetOldest(begun)
    const token = this.#random.between(1, MOST_TOKEN)
    const had = this.#inForce(key, id, begun)
    const attempt = this.#attempts.begin(key, id, this.#masters.length, had?.vote)
    const votes = await this.#vote(
      (master) => master.take({ ...request, queues: false }, token, attempt),
      (all) => all.has(isGrant) || all.lacks(isGrant),
    )
    const now = this.#time.now()
    const until = this.#deadline(begun, lease)
    if (votes.has(isGrant) && now <= until && now <= before) {
      const old = had && this.#inForce(key, id, now)
      const granted = votes.answers.find(isGrant)?.hold as EngineHold
      const hold: OwnHold = {
        id,
        vote: attempt.vote,
        token: old?.token ?? granted.token,
        deadline: Math.max(old?.deadline ?? 0, until),
        acquires: (old?.acquires ?? 0) + 1,
        context: context ?? granted.context,
      }
      this.#holds.set(nameOf(key, id), hold)
      return { now, code: codeOf(votes, old), hold, queued: false }
    }
    // If the caller had a hold before this take, the hold continues, and its votes are not given back.
    if (had === undefined) this.#giveBack(key, attempt)
    if (now > before) return { now, code: 'LATE', hold: undefined, queued: false }
    if (votes.answers.length < votes.quorum) throw votes.failure()
    const { queues } = request
    const again = this.#random.between(LEAST_PAUSE, MOST_PAUSE)
    return { now, code: 'HELD', hold: otherHold(votes, now, attempt.vote), queued: queues, again }
  }

  async renew(list: readonly RenewRequest[]): ReturnType<LockEngine['renew']> {
    const begun = this.#time.now()
    const asked = list.map((one) => ({ ...one, id: this.#voteOf(one.key, one.id) }))
    const isKept = (i: number) => (answer: { readonly holds: readonly unknown[] }) =>
      answer.holds[i] !== undefined
    const votes = await this.#vote(
      (master) => master.call((calls) => calls.renew(asked)),
      (all) => list.every((_, i) => all.has(isKept(i)) || all.lacks(isKept(i))),
    )
    const now = this.#time.now()
    const holds = list.map(({ key, id, lease }, i) => {
      const old = this.#inForce(key, id, now)
      if (old === undefined || votes.lacks(isKept(i))) return this.#abandon(key, id)
      if (!votes.has(isKept(i))) throw votes.failure()
      const hold = { ...old, deadline: Math.max(old.deadline, this.#deadline(begun, lease)) }
      this.#holds.set(nameOf(key, id), hold)
      return hold
    })
    return { now, holds }
  }

  async release(key: Uint8Array, id: string, all: boolean): Promise<ReleaseAnswer> {
    const begun = this.#time.now()
    const own = this.#holds.get(nameOf(key, id))
    if (own !== undefined && begun <= own.deadline && !all && own.acquires > 1) {
      const hold = { ...own, acquires: own.acquires - 1 }
      this.#holds.set(nameOf(key, id), hold)
      return { now: begun, code: 'DECREMENTED', hold }
    }
    const vote = this.#voteOf(key, id)
    this.#attempts.end(key, id)
    const votes = await this.#vote(
      (master) => master.call((calls) => calls.release(key, vote, true)),
      (count) => count.has(wasOwn) || count.lacks(wasOwn),
    )
    if (votes.answers.length < votes.quorum) throw votes.failure()
    this.#lose(key, id)
    // The answer names `begun` as the time of the release. Each master ended the hold after this time, so a
    // hold that was in force at `begun` counts as released, and not as expired.
    const now = begun
    if (own !== undefined && now <= own.deadline && votes.has(wasOwn))
      return { now, code: 'RELEASED', hold: own }
    const other = otherHold(votes, now, vote)
    if (other !== undefined) return { now, code: 'NOT_OWNER', hold: other }
    return { now, code: own === undefined ? 'NOT_HELD' : 'EXPIRED', hold: own }
  }

  async cancel(tickets: Parameters<LockEngine['cancel']>[0]): ReturnType<LockEngine['cancel']> {
    const now = this.#time.now()
    const tokens = tickets.map(({ key, id }) => this.#inForce(key, id, now)?.token ?? 0)
    const asked = tickets.flatMap(({ key, id }) => {
      const names = new Set([this.#voteOf(key, id), ...this.#attempts.end(key, id)])
      return [...names].map((vote) => ({ key, id: vote }))
    })
    const votes = await this.#vote(
      (master) => master.call((calls) => calls.cancel(asked)),
      (all) => all.answers.length >= all.quorum,
    )
    if (votes.answers.length < votes.quorum) throw votes.failure()
    for (const { key, id } of tickets) this.#lose(key, id)
    return { now, tokens }
  }

  async rotate(key: Uint8Array, id: string): ReturnType<LockEngine['rotate']> {
    const token = this.#random.between(1, MOST_TOKEN)
    const vote = this.#voteOf(key, id)
    const isKept = ({ hold }: { readonly hold: EngineHold | undefined }) => hold !== undefined
    const votes = await this.#vote(
      (master) => master.call((calls) => calls.rotate(key, vote, token)),
      (all) => all.has(isKept) || all.lacks(isKept),
    )
    const now = this.#time.now()
    const own = this.#inForce(key, id, now)
    if (own === undefined || votes.lacks(isKept)) return { now, hold: this.#lose(key, id) }
    if (!votes.has(isKept)) throw votes.failure()
    const hold = { ...own, token }
    this.#holds.set(nameOf(key, id), hold)
    return { now, hold }
  }

  async forceRelease(key: Uint8Array, token: number): ReturnType<LockEngine['forceRelease']> {
    const isEnded = ({ ended }: { readonly ended: boolean }) => ended
    const votes = await this.#vote(
      (master) => master.call((calls) => calls.forceRelease(key, token)),
      (all) => all.has(isEnded) || all.lacks(isEnded),
    )
    if (!votes.has(isEnded) && !votes.lacks(isEnded)) throw votes.failure()
    return { now: this.#time.now(), ended: votes.has(isEnded) }
  }

  async query(of: Parameters<LockEngine['query']>[0]): ReturnType<LockEngine['query']> {
    const votes = await this.#vote(
      (master) => master.call((calls) => calls.query(of)),
      () => false,
    )
    if (votes.answers.length < votes.quorum) throw votes.failure()
    return { now: this.#time.now(), rows: majorityRows(votes) }
  }

  async time(): ReturnType<LockEngine['time']> {
    return { now: this.#time.now() }
  }

  listen(): () => void {
    return () => {}
  }

  async close(): Promise<void> {
    this.#end()
  }

  #vote<T>(ask: (master: Master) => Promise<T>, isDecided: (votes: Votes<T>) => boolean): Promise<Votes<T>> {
    return vote(this.#masters, ask, isDecided)
  }

  #deadline(begun: number, lease: number): number {
    return begun + Math.floor(lease * this.#part) - 1
  }

  #inForce(key: Uint8Array, id: string, now: number): OwnHold | undefined {
    const hold = this.#holds.get(nameOf(key, id))
    return hold !== undefined && now <= hold.deadline ? hold : undefined
  }

  /** Returns the vote id of the caller's hold. Without a hold, returns `id` itself, which no master knows. */
  #voteOf(key: Uint8Array, id: string): string {
    return this.#holds.get(nameOf(key, id))?.vote ?? id
  }

  /**
   * Called when a hold has ended for its holder. Some masters may have extended the hold, so the votes are
   * given back.
   */
  #abandon(key: Uint8Array, id: string): undefined {
    const vote = this.#holds.get(nameOf(key, id))?.vote
    if (vote !== undefined) this.#takeBack(key, vote)
    this.#lose(key, id)
  }

  #lose(key: Uint8Array, id: string): undefined {
    this.#holds.delete(nameOf(key, id))
  }

  #giveBack(key: Uint8Array, attempt: Attempt): void {
    attempt.isOver = true
    this.#takeBack(key, attempt.vote)
  }

  #takeBack(key: Uint8Array, vote: string): void {
    for (const master of this.#masters)
      master.call((calls) => calls.cancel([{ key, id: vote }])).catch(() => {})
  }

  /**
   * Called by each take. Checks the hold whose last check is the oldest, and removes the hold if it has
   * ended. So ended holds do not fill the memory.
   */
  #forgetOldest(now: number): void {
    const [oldest] = this.#holds
    if (oldest === undefined) return
    const [name, hold] = oldest
    this.#holds.delete(name)
    if (now <= hold.deadline) this.#holds.set(name, hold)
  }
}

const isGrant = ({ code }: TakeAnswer): boolean => code !== 'HELD' && code !== 'LATE'
/**
 * True if a master's answer counts as a release by the holder. EXPIRED counts too: if a release is sent in
 * time, the lease may still end at the master before the release arrives.
 */
const wasOwn = ({ code }: ReleaseAnswer): boolean => code === 'RELEASED' || code === 'EXPIRED'

function codeOf(votes: Votes<TakeAnswer>, old: EngineHold | undefined): TakeAnswer['code'] {
  if (old !== undefined) return 'REENTRANT'
  return votes.answers.some(({ code }) => code === 'NEW_ACQUIRE') ? 'NEW_ACQUIRE' : 'FIRST_TIME'
}

/**
 * If the masters report several holds of other callers, returns the hold that most masters report. Its
 * deadline is converted to this process's clock.
 */
function otherHold(
  votes: Votes<{ readonly now: number; readonly hold: EngineHold | undefined }>,
  now: number,
  own: string,
): EngineHold | undefined {
  const named = new Map<string, { hold: EngineHold; votes: number }>()
  for (const answer of votes.answers) {
    const { hold } = answer
    if (hold === undefined || hold.id === own || hold.deadline < answer.now) continue
    const deadline = now + hold.deadline - answer.now
    const seen = named.get(hold.id)?.votes ?? 0
    named.set(hold.id, { hold: { ...hold, deadline }, votes: seen + 1 })
  }
  return [...named.values()].sort((a, b) => b.votes - a.votes)[0]?.hold
}

/**
 * Returns, for each lock, the hold that a majority of the masters reports. The remaining time of a hold is
 * the time for which a majority of the masters keeps the hold.
 */
function majorityRows(
  votes: Votes<{ readonly now: number; readonly rows: readonly LockInfoResult[] }>,
): LockInfoResult[] {
  const byHold = new Map<string, LockInfoResult[]>()
  for (const { rows } of votes.answers)
    for (const row of rows) {
      const name = nameOf(row[0], row[1])
      const same = byHold.get(name)
      if (same === undefined) byHold.set(name, [row])
      else same.push(row)
    }
  const told: LockInfoResult[] = []
  for (const same of byHold.values()) {
    const [row] = same.sort((a, b) => b[5] - a[5])
    const last = same[votes.quorum - 1]
    if (row === undefined || last === undefined) continue
    const [key, id, context, token, , , , held, queue, shared] = row
    told.push([
      key,
      id,
      context,
      token,
      Math.max(...same.map((one) => one[4])),
      last[5],
      0,
      held,
      queue,
      shared,
    ])
  }
  return told.sort((a, b) => Buffer.compare(a[0], b[0]))
}
