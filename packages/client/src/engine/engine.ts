// Driver: the session engine. The engine sends the requests of a store over the open link, until the answer
// arrives or the call's time is over. The engine uses only the clock, the random source and the links that
// its creator passes.
//
// Laws: each call ends once, with its own answer, or with an error that says correctly whether the call was
// executed (C1 to C5, C7, C9; docs/locks.md, 6). The full laws are in exactly-once-commands.ts,
// outcome-of-answer.ts and session.ts.

import { type Clock, Emitter, microtask, type Random } from '@latchkey/base'
import { ClusterTimeBound } from '@latchkey/lock'
import {
  type AdminCall,
  LatchkeyError,
  READ,
  type WatchOf,
  type LeaderReply,
  type Read,
  type StoreEvents,
} from '@latchkey/protocol'
import { Call, type CallOptions, type Convert, type LinkState, type Payload } from './call.js'
import { ExactlyOnceCommands } from './exactly-once-commands.js'
import { copyOfError, PendingCalls } from './pending-calls.js'
import { EphemeralKeys } from './ephemeral-key-keep-alive.js'
import { unreachableForGood, closed, withoutLeader } from './outcome-of-answer.js'
import { GrantPushes } from './callers-waiting-for-push.js'
import { ActiveLink } from './shared-by-all-calls.js'
import { EMBEDDED_EVENTS, LinkEvents, REMOTE_EVENTS } from './cluster-events.js'
import { ReadsAndAdminCalls } from './reads-and-admin-calls.js'
import { LinkReports } from './link-message-dispatcher.js'
import type { Route, RouterEvents } from './router-interface.js'
import { Router } from './router.js'
import { StoreCounts } from './store-metrics.js'
import type { Tracing } from '../tracing/tracing.js'
import { REVISION_READ, type WatchHandle, type WatchSink, Watches } from './watches.js'

export interface EngineOptions {
  readonly route: Route
  readonly clock: Clock
  readonly random: Random
  /** How long the session stays open without a request, in ms of cluster time. */
  readonly sessionLife: number
  readonly drift: number
  readonly tracing?: Tracing | undefined
}

export class Engine {
  readonly bound: ClusterTimeBound
  readonly counts = new StoreCounts()
  readonly tracing: Tracing | undefined
  readonly grants = new GrantPushes()
  readonly events: Emitter<StoreEvents>
  readonly #activeLink: ActiveLink
  readonly #pendingCalls: PendingCalls
  readonly #router: Router
  readonly #commands: ExactlyOnceCommands
  readonly #readsAndAdmin: ReadsAndAdminCalls
  readonly #watches: Watches
  readonly #reports: LinkReports
  #isClosing = false
  #closed = false
  readonly ephemeralKeys = new EphemeralKeys(() => this.use())

  constructor(options: EngineOptions) {
    const { clock, random } = options
    this.tracing = options.tracing
    this.bound = new ClusterTimeBound(options.drift)
    this.bound.onDropped(() => this.#commands.over(this.#commands.sessionId ?? 0))
    const isRemote = 'seeds' in options.route
    this.events = new Emitter(isRemote ? REMOTE_EVENTS : EMBEDDED_EVENTS)
    this.#router = new Router(options.route, clock, random.fork('router'), this.#routerEvents())
    this.#activeLink = new ActiveLink(
      clock,
      random.fork('pauses'),
      this.bound,
      this.counts,
      () => this.#router,
      () => this.#reports.resume(),
    )
    this.#pendingCalls = new PendingCalls(clock, {
      leaderKnown: () => this.#activeLink.leading !== undefined,
      leaderless: () => this.#reports.leaderless,
      lastLeader: () => this.#reports.lastLeader,
      unreached: () => this.unreached(),
      crowded: () => this.#commands.crowded,
      gaveUp: (call) => this.#gaveUp(call),
      forget: (call) => this.#activeLink.forget(call),
    })
    this.#commands = new ExactlyOnceCommands(this.#activeLink, this.#pendingCalls, options.sessionLife, () =>
      this.#reports.attach(),
    )
    this.#readsAndAdmin = new ReadsAndAdminCalls(this.#activeLink, this.#pendingCalls)
    this.#watches = new Watches(this.#activeLink)
    this.#reports = new LinkReports({
      activeLink: this.#activeLink,
      commands: this.#commands,
      readsAndAdmin: this.#readsAndAdmin,
      watches: this.#watches,
      grants: this.grants,
      bound: this.bound,
      events: this.events,
      linkEvents: isRemote ? new LinkEvents(this.events) : undefined,
    })
    this.#router.start()
  }

  get session(): number | undefined {
    return this.#commands.sessionId
  }

  /**
   * Returns the error for a wait that ends while no leader is known. Returns undefined if a leader is known.
   */
  noLeader(): LatchkeyError | undefined {
    if (this.#activeLink.leading !== undefined) return undefined
    return withoutLeader(this.#reports.leaderless, this.#reports.lastLeader)
  }

  // ---- Calls of a store

  /** Sends a command, which is executed exactly once. */
  command<T>(body: Uint8Array, options: CallOptions, convert: Convert<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.start({ what: 'command', body }, options, convert, resolve, reject)
    })
  }

  read<T>(
    read: Read,
    stale: boolean,
    options: CallOptions,
    convert: Convert<T>,
    viewLink?: LinkState,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      this.start({ what: 'read', read, stale }, options, convert, resolve, reject, viewLink)
    })
  }

  /**
   * Sends a call about the cluster. If `changes` is true, the call is sent again only if no member has
   * executed it. If no answer to a change arrives, the outcome is unknown.
   */
  admin<T>(
    call: AdminCall,
    args: readonly unknown[],
    changes: boolean,
    options: CallOptions,
    convert: Convert<T>,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      this.start({ what: 'admin', call, args, changes }, options, convert, resolve, reject)
    })
  }

  /**
   * Throws the error with which the engine would refuse a new call now. A call that does other work before
   * its first request uses this method to fail early.
   */
  pass({ signal }: CallOptions): void {
    this.#pendingCalls.pass(signal)
  }

  start<T>(
    payload: Payload,
    options: CallOptions,
    convert: Convert<T>,
    resolve: (result: T) => void,
    reject: (error: unknown) => void,
    viewLink?: LinkState,
  ): Call {
    const call = new Call(payload, convert, resolve as (result: unknown) => void, reject)
    call.viewLink = viewLink
    if (this.tracing?.followsCalls === true)
      call.trace = this.tracing.call(payload, this.#activeLink.link?.url)
    if (!this.#pendingCalls.admit(call, options)) return call
    if (payload.what === 'command') this.#commands.submit(call)
    else this.#readsAndAdmin.submit(call)
    return call
  }

  whenFinal(call: Call): Promise<void> {
    if (call.finished || call.number === 0) return Promise.resolve()
    if (this.#closed) return Promise.reject(new LatchkeyError('ERR_CLOSED'))
    return new Promise((resolve, reject) => {
      call.onFinished ??= []
      call.onFinished.push((error) => (error ? reject(error) : resolve()))
    })
  }

  /**
   * Opens a watch. If `from` is undefined, the watch begins after the store's present revision, which the
   * engine reads first. Commands of this store wait until the revision is known, because the watch must
   * deliver the events of commands that come after the call. A watch of locks always begins in this way.
   */
  watch(
    start: Uint8Array | null,
    end: Uint8Array | null,
    from: number | undefined,
    sink: WatchSink,
    of?: WatchOf,
  ): WatchHandle {
    const watch = this.#watches.open(start, end, from ?? 0, sink, of)
    const refusal = this.#pendingCalls.refusalNow()
    const read = of === undefined ? REVISION_READ : ([READ.lockState, start, end] as const)
    if (refusal) microtask(() => this.#watches.fail(watch, refusal))
    else if (from === undefined)
      this.#watchFromNow(watch, read, (seen) => sink.began?.(seen) ?? (seen as number))
    return watch
  }

  #watchFromNow(watch: WatchHandle, read: Read, seenIn: (result: unknown) => number): void {
    const lift = this.#commands.barrier()
    const begin = (seen: number) => {
      this.#watches.begin(watch, seen + 1)
      lift()
    }
    const fail = (error: unknown) => {
      lift()
      this.#watches.fail(watch, error as LatchkeyError)
    }
    this.start({ what: 'read', read, stale: false }, NO_LIMIT, seenIn, begin, fail)
  }

  get clock(): Clock {
    return this.#activeLink.clock
  }

  /**
   * Makes one deadline for a call that sends several requests. The returned function returns the ms until the
   * deadline, or undefined if the call has no timeout. After the deadline it returns 1, so that the next
   * request fails with the error of a timeout.
   */
  deadlineOf({ timeout }: CallOptions): () => number | undefined {
    if (timeout === undefined) return () => undefined
    const end = this.#activeLink.clock.now() + timeout
    return () => Math.max(1, end - this.#activeLink.clock.now())
  }

  use(): () => void {
    return this.#commands.use()
  }

  /** Keeps the link open for a view until the returned function is called. */
  keepOpen(live: LinkState): () => void {
    live.views++
    let kept = true
    return () => {
      if (kept) live.views--
      kept = false
      this.#activeLink.closeIfDone(live)
    }
  }

  connected(done: () => void, failed: (error: unknown) => void): void {
    this.#reports.connected(done, failed)
  }

  unreached(): string | undefined {
    return this.#router.active === undefined ? this.#router.failedAddresses.describe() : undefined
  }

  /**
   * Called when the token or the certificate was replaced. If no link is open, dials all addresses again
   * immediately, because members that refused the old token or certificate may accept the new one.
   */
  retry(): void {
    this.#router.retry()
  }

  get cluster(): LeaderReply | undefined {
    return this.#reports.cluster
  }

  #routerEvents(): RouterEvents {
    return {
      active: (live) => this.#reports.active(live),
      leader: (live, leader) => this.#reports.leader(live, leader),
      reply: (live, reply) => this.#reports.reply(live, reply),
      lost: (live, reason) => this.#reports.lost(live, reason),
      left: (live) => this.#reports.left(live),
      awaits: () => this.#watches.size > 0 || this.#commands.awaits,
      noUsableAddress: (error) => this.#noUsableAddress(error),
      memberRemoved: (reason) => this.#memberRemoved(reason),
      failed: (error) => this.#reports.failed(error),
    }
  }

  // ---- The end

  #gaveUp(call: Call): void {
    if (call.payload.what === 'command') this.#commands.gaveUp(call)
    else this.#readsAndAdmin.gaveUp(call)
  }

  #noUsableAddress(error: LatchkeyError | undefined): void {
    if (!this.#isClosing) this.#pendingCalls.refusal = error && (() => copyOfError(error))
    if (!error) return
    this.#endPending(error, () => true)
  }

  /**
   * Called with an error when the store's only member was removed from its cluster (M12). All calls and
   * watches that wait for the cluster get this error. Called with undefined when the member belongs to a
   * cluster again.
   */
  #memberRemoved(reason: LatchkeyError | undefined): void {
    if (this.#pendingCalls.memberRemoved === reason) return
    this.#pendingCalls.memberRemoved = reason
    if (!reason) return
    this.#endPending(reason, (call) => call.needsCluster)
    this.#commands.endSentAsUnknown(reason)
  }

  #endPending(error: LatchkeyError, isMeant: (call: Call) => boolean): void {
    for (const call of this.#pending(isMeant))
      this.#pendingCalls.giveUp(call, unreachableForGood(call.callState(false, false), error))
    this.#watches.failAll(() => error)
    // This call makes each caller that waits for a lock ask for the state of its wait. The request fails with
    // the error, so the caller gets the error.
    this.grants.attached(false)
  }

  #pending(isMeant: (call: Call) => boolean): Call[] {
    const asked = this.#router.linksInUse().flatMap((live) => live.inflight.all())
    const calls = [
      ...this.#commands.open(),
      ...this.#commands.waiting(),
      ...this.#readsAndAdmin.take(isMeant),
      ...asked,
    ]
    return calls.filter((call) => !call.settled && call.role === 'user' && isMeant(call))
  }

  /**
   * Ends all pending calls and refuses new calls with ERR_CLOSED. The calls that `last` starts are the last
   * calls of this store. These last calls continue, within their own limits, until `close`.
   */
  closing<T>(last: () => T): T {
    const pending = this.#pending(() => true)
    const result = last()
    this.#isClosing = true
    this.#pendingCalls.refusal = () => new LatchkeyError('ERR_CLOSED')
    for (const call of pending) this.#pendingCalls.fail(call, closed(call.callState(false, false)))
    this.#watches.failAll(() => new LatchkeyError('ERR_CLOSED'))
    return result
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#isClosing = true
    this.#pendingCalls.refusal = () => new LatchkeyError('ERR_CLOSED')
    for (const call of this.#pending(() => true))
      this.#pendingCalls.fail(call, closed(call.callState(false, false)))
    for (const call of this.#commands.open()) call.finish(new LatchkeyError('ERR_CLOSED'))
    this.#watches.failAll(() => new LatchkeyError('ERR_CLOSED'))
    this.#commands.close()
    this.#router.close()
    this.#activeLink.close()
    this.#pendingCalls.close()
  }
}

const NO_LIMIT: CallOptions = { timeout: undefined, signal: undefined }
