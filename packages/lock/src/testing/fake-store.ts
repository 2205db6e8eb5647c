// Driver: a store for tests of lock objects, with the real rules on maps, cluster time, and links that lose
// and delay requests.

import { addByKey, EMPTY, type Instant, binary, compareBytes, deleteByKey, equalBytes } from '@latchkey/base'
import {
  type As,
  type Command,
  type GuardArg,
  type KeyValueCalls,
  LatchkeyError,
  type LockInfoResult,
  OP,
  type OwnerResult,
  READ,
  type Read,
} from '@latchkey/protocol'
import { ClusterTimeBound } from '../holding/cluster-time-bound.js'
import { type LockCall, type LockCallOptions, type LockPort, taken } from '../holding/lock-port-interface.js'
import { renew, tryLock } from '../rules/acquire.js'
import { tryLockAll } from '../rules/acquire-all.js'
import { ownerOfHold } from '../rules/hold-checks-and-answers.js'
import { lockInfo, ticketOf } from '../rules/lock-reads.js'
import { downgrade, proclaim, rotate } from '../rules/downgrade-proclaim-rotate.js'
import { cancelWait, forceRelease, release, releaseAll, resize, steal } from '../rules/release.js'
import { MapTransaction } from './map-transaction.js'
import { ProcessClock, type World } from './virtual-time.js'

type Off = () => void

export class FakeStore {
  readonly tx = new MapTransaction()
  readonly world: World
  /** In ms: the test's time minus the cluster time. The lag grows while there is no leader. */
  lag = 0
  readonly ports: FakePort[] = []
  #time = 0
  #ticking: { cancel(): void } | undefined

  constructor(world: World) {
    this.world = world
  }

  /** Cluster time never goes back (CT1). Cluster time stands still while there is no leader. */
  get time(): number {
    this.#time = Math.max(this.#time, Math.floor(this.world.now - this.lag))
    return this.#time
  }

  connect(options: { delay?: number; life?: number } = {}): FakePort {
    const port = new FakePort(this, this.ports.length + 1, options.delay ?? 0, options.life ?? 30_000)
    this.ports.push(port)
    return port
  }

  entry(session: number, command: Command): unknown {
    const result = this.tx.entry(this.time, session, () => this.#apply(session, command))
    this.#entryDone()
    return result
  }

  tick(): void {
    this.tx.tick(this.time)
    this.#entryDone()
  }

  read(read: Read): unknown {
    const { tx } = this
    const at = {
      now: this.time,
      hold: tx.hold.bind(tx),
      sharedHold: tx.sharedHold.bind(tx),
      sharedHoldWith: tx.sharedHoldWith.bind(tx),
      shared: tx.shared.bind(tx),
      waiter: tx.waiter.bind(tx),
      waiterCount: tx.waiterCount.bind(tx),
      queueOf: tx.queueOf.bind(tx),
    }
    if (read[0] === READ.ticket) return ticketOf(at, read[1], read[2])
    if (read[0] === READ.lockQuery) return this.#query(at, read[1], read[3])
    if (read[0] === READ.revision) return 1
    throw new Error(`a read that lock objects do not ask: ${read[0]}`)
  }

  #query(at: Parameters<typeof lockInfo>[0], prefix: Uint8Array | null, isKey: boolean): LockInfoResult[] {
    const rows = this.tx.all().sort((a, b) => compareBytes(a.key, b.key) || a.arrival - b.arrival)
    const wanted = rows.filter(
      ({ key }) => prefix === null || equalBytes(isKey ? key : key.subarray(0, prefix.length), prefix),
    )
    return wanted.map((row) => lockInfo(at, row)).filter((info) => info !== undefined)
  }

  #apply(session: number, command: Command): unknown {
    const { tx } = this
    switch (command[0]) {
      case OP.tryLock: {
        const answer = tryLock(tx, session, command)
        if (typeof answer === 'string') throw new LatchkeyError(answer)
        return answer
      }
      case OP.release:
        return release(tx, command[1], command[2], command[3], command[4])
      case OP.renew:
        return renew(tx, command[1])
      case OP.cancelWait:
        return cancelWait(tx, command[1], command[2])
      case OP.keepAlive:
        return true
      case OP.forceRelease:
        return forceRelease(tx, command[1], command[2])
      case OP.releaseAll:
        return releaseAll(tx, command[1])
      case OP.downgrade:
        return downgrade(tx, command[1], command[2], command[3])
      case OP.proclaim:
        return proclaim(tx, command[1], command[2], command[3], command[4])
      case OP.steal: {
        const [, key, id, lease, context] = command
        return steal(tx, session, { key, id, lease, context })
      }
      case OP.tryLockAll: {
        const answer = tryLockAll(tx, session, command)
        if (typeof answer === 'string') throw new LatchkeyError(answer)
        return answer
      }
      case OP.rotate:
        return rotate(tx, command[1], command[2], command[3])
      case OP.resize:
        return resize(tx, command[1], command[2])
      default:
        throw new Error(`a command that lock objects do not send: ${command[0]}`)
    }
  }

  #entryDone(): void {
    for (const row of this.tx.grants) {
      const owner = ownerOfHold(row, this.tx.now)
      this.ports.find(({ session }) => session === row.session)?.push(row.key, owner)
    }
    this.#ticking?.cancel()
    const next = this.tx.nextDeadline()
    if (next === undefined) return
    this.#ticking = this.world.after(next + 1 - this.time, () => this.tick())
  }
}

/** The faults that a request can meet. A request without a fault is applied and answered. */
export type Fault =
  | 'lose request' // sent but never arrives: the sender does not know its outcome
  | 'lose answer' // applied but never answered
  | 'arrive late' // arrives when `deliver` is called, unless it was settled before
  | 'prove nothing' // answered without a cluster time, like a kept answer of the session
  | LatchkeyError

interface Late {
  readonly apply: () => void
  settled: boolean
}

export class FakePort implements LockPort {
  readonly clock: ProcessClock
  readonly bound = new ClusterTimeBound()
  readonly decoding = { as: 'bytes', onUndecodable: 'error', prefix: EMPTY } as const
  readonly closing = new AbortController()
  readonly closed = this.closing.signal
  readonly sent: Command[] = []
  readonly reads: Read[] = []
  /** Called for each request. */
  fault: (command: Command) => Fault | undefined = () => undefined
  /** Whether requests can be sent. If false, requests wait until their deadline. */
  up = true
  pushes = true
  travel: (way: 'out' | 'back') => number
  /**
   * Called with each answer that arrives, even if the caller no longer waits for the answer. `askedAt` is the
   * local time of the call. The request may have been sent later, because requests wait while `up` is false.
   */
  came: (command: Command | Read, value: unknown, time: number, sentAt: Instant, askedAt: number) => void =
    () => {}
  /** In ms, the members' election timeout. 0 means that it is not known. */
  timeout = 0
  session: number
  readonly delay: number
  readonly #store: FakeStore
  readonly #life: number
  readonly #granted = new Map<string, Set<(owner: OwnerResult) => void>>()
  readonly #attached = new Set<(isNewSession: boolean) => void>()
  readonly #waiting = new Set<() => void>()
  #late: Late[] = []
  #ids = 0

  constructor(store: FakeStore, session: number, delay: number, life: number) {
    this.#store = store
    this.session = session
    this.delay = delay
    this.travel = () => delay
    this.#life = life
    this.clock = new ProcessClock(store.world)
    this.bound.setCluster('cluster')
    store.tx.now = Math.max(store.tx.now, store.time)
    store.tx.openSession(session, life)
    this.#keepAlive()
  }

  /** The keep-alive request of the session engine, which is not listed in `sent`. */
  #keepAlive(): void {
    this.#store.world.after(this.#life / 3, () => {
      if (this.up && !this.closed.aborted) this.#store.entry(this.session, [OP.keepAlive])
      this.#keepAlive()
    })
  }

  newId(): string {
    return `${this.session}.${++this.#ids}`
  }

  leaderless: LatchkeyError | undefined

  noLeader(): LatchkeyError | undefined {
    return this.leaderless
  }

  electionTimeout(): number {
    return this.timeout
  }

  command: LockPort['command'] = (command, options = {}, take, listener) =>
    taken(this.#command(command, options), take, listener)

  #command(command: Command, options: LockCallOptions): LockCall {
    const askedAt = this.clock.now()
    let settle: () => Promise<void> = () => Promise.resolve()
    let sent = false
    const result = this.#request(options, async (sentAt) => {
      sent = true
      this.sent.push(command)
      const fault = this.fault(command)
      if (fault instanceof LatchkeyError) throw fault
      if (fault === 'lose request') return NEVER
      if (fault === 'arrive late') {
        const late = { settled: false, apply: () => void this.#store.entry(this.session, command) }
        this.#late.push(late)
        settle = () => this.#whenUp().then(() => void (late.settled = true))
        return NEVER
      }
      await this.#travel('out')
      const value = this.#store.entry(this.session, command)
      const time = fault === 'prove nothing' ? 0 : this.#store.time
      settle = () => this.#whenUp()
      if (fault === 'lose answer') return NEVER
      await this.#travel('back')
      this.bound.learn(time, sentAt, this.clock.instant())
      this.came(command, value, time, sentAt, askedAt)
      return value
    })
    return {
      result,
      get sent() {
        return sent
      },
      whenFinal: () => settle(),
    }
  }

  read(read: Read, options: LockCallOptions = {}): Promise<unknown> {
    const askedAt = this.clock.now()
    return this.#request(options, async (sentAt) => {
      this.reads.push(read)
      await this.#travel('out')
      const [value, time] = [this.#store.read(read), this.#store.time]
      await this.#travel('back')
      this.bound.learn(time, sentAt, this.clock.instant())
      this.came(read, value, time, sentAt, askedAt)
      return value
    })
  }

  watchLocks(): never {
    throw new Error('this store of tests has no watches')
  }

  onGranted(key: Uint8Array, id: string, run: (owner: OwnerResult) => void): Off {
    const name = `${binary(key)}/${id}`
    addByKey(this.#granted, name, run)
    return () => deleteByKey(this.#granted, name, run)
  }

  onAttached(run: (isNewSession: boolean) => void): Off {
    this.#attached.add(run)
    return () => this.#attached.delete(run)
  }

  guardedKv(guard: () => GuardArg, knownLost: () => boolean): KeyValueCalls<As> {
    return { guarded: { guard, knownLost } } as unknown as KeyValueCalls<As>
  }

  get listeners(): number {
    return this.#granted.size + this.#attached.size
  }

  push(key: Uint8Array, owner: OwnerResult): void {
    if (!this.pushes || !this.up) return
    const tell = () => {
      for (const run of [...(this.#granted.get(`${binary(key)}/${owner[0]}`) ?? [])]) run(owner)
    }
    if (this.delay === 0) queueMicrotask(tell)
    else this.#store.world.after(this.delay, tell)
  }

  cut(): void {
    this.up = false
  }

  /** Connects the link again. `newSession` means that the old session ended while there was no link. */
  heal(newSession = false): void {
    this.up = true
    if (newSession) {
      this.#store.tx.end(this.session)
      this.#openSession()
    }
    for (const run of [...this.#waiting]) run()
    this.#waiting.clear()
    for (const run of [...this.#attached]) run(newSession)
  }

  /** Opens a new session. The old session stays open, as after a time in which cluster time stood still. */
  attachNewSession(): void {
    this.#openSession()
    for (const run of [...this.#attached]) run(true)
  }

  #openSession(): void {
    this.session += 1000
    this.#store.tx.openSession(this.session, this.#life)
  }

  /** Delivers the late requests now, except the requests whose `whenFinal` has resolved. */
  deliver(): void {
    const late = this.#late
    this.#late = []
    for (const { apply, settled } of late) if (!settled) apply()
  }

  close(): void {
    this.closing.abort(new LatchkeyError('ERR_CLOSED'))
  }

  #travel(way: 'out' | 'back'): Promise<void> {
    const ms = this.travel(way)
    if (ms === 0) return Promise.resolve()
    return new Promise((resolve) => this.#store.world.after(ms, resolve))
  }

  #whenUp(): Promise<void> {
    return this.up ? this.#travel('out') : new Promise((resolve) => this.#waiting.add(resolve))
  }

  /** Sends the request immediately, or after the link is connected again. */
  #request(options: LockCallOptions, run: (sentAt: Instant) => Promise<unknown>): Promise<unknown> {
    return new Promise<unknown>((resolve, reject) => {
      const { signal, due } = options
      const timeout = options.timeout ?? (due === undefined ? undefined : Math.max(0, due - this.clock.now()))
      let sent = false
      const end = (finish: () => void) => {
        timer?.cancel()
        signal?.removeEventListener('abort', aborted)
        this.closed.removeEventListener('abort', closed)
        this.#waiting.delete(go)
        finish()
      }
      const over = (code: 'timeout' | 'aborted' | 'closed') =>
        end(() => reject(failure(code, sent, signal?.reason)))
      const aborted = () => over('aborted')
      const closed = () => over('closed')
      const go = () => {
        sent = true
        run(this.clock.instant()).then(
          (value) => end(() => resolve(value)),
          (error) => end(() => reject(error as Error)),
        )
      }
      const timer = timeout === undefined ? undefined : this.clock.after(timeout, () => over('timeout'))
      signal?.addEventListener('abort', aborted)
      this.closed.addEventListener('abort', closed)
      if (this.closed.aborted) closed()
      else if (signal?.aborted) aborted()
      else if (this.up) go()
      else this.#waiting.add(go)
    })
  }
}

/** An answer that never arrives. */
const NEVER = new Promise<never>(() => {})

function failure(code: 'timeout' | 'aborted' | 'closed', sent: boolean, cause: unknown): LatchkeyError {
  const outcome = sent ? 'unknown' : 'not-applied'
  if (code === 'aborted') return new LatchkeyError('ERR_ABORTED', undefined, { outcome, cause })
  if (code === 'closed') return new LatchkeyError('ERR_CLOSED', undefined, { outcome })
  return new LatchkeyError(sent ? 'ERR_OUTCOME_UNKNOWN' : 'ERR_NO_LEADER')
}
