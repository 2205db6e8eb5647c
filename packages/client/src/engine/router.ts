// Driver: owns the links of a store. The router keeps one link open and prefers a link to the leader. When
// the link closes, the router opens another link immediately.
//
// Laws:
// - new requests go only to `active`, which is the link in use. A link that the store has left stays open
//   until all requests on that link are answered.
// - the engine is notified once of each closed link, with all unanswered requests of the link.
// - the store leaves a member that knows no leader for a member that knows a leader. A member without a
//   leader may be cut off, or removed from the cluster.
// - the store leaves a silent member (silence-detector.ts) for a leader that another member names. After the
//   silence is certain, the store may also move to that other member. The store sends the unanswered requests
//   of the former link again, and a late answer on the former link is still valid.
// - an embedded store keeps the link to its own member, and uses another link only while that member is cut
//   off from the leader (embedded-store-link-to-third-member.ts).

import type { Clock, Random, Timer } from '@latchkey/base'
import { type LatchkeyError, type LeaderReply, type LinkReply, isLatchkeyError } from '@latchkey/protocol'
import type { LinkState } from './call.js'
import { Dialler, shut } from './dialler.js'
import { FailedAddresses } from './last-error-of-addresses.js'
import { LeaderQuery } from './leader-query.js'
import { SilenceDetector } from './silence-detector.js'
import type { Route, RouterEvents } from './router-interface.js'
import { FallbackLink } from './embedded-store-link-to-third-member.js'

/** In ms. If an attempt to connect has no answer after this time, the router also dials the next address. */
const STAGGER = 250
const DIAL_TIMEOUT = 3_000
const LEAST_PAUSE = 20
const MOST_PAUSE = 1_000
/** In ms, how long a member may know no leader before the store asks the other members, one by one. */
const LEADERLESS = 500

export class Router {
  active: LinkState | undefined
  /** The link of an embedded store to its own member. This link stays open while another link is active. */
  ownLink: LinkState | undefined
  readonly failedAddresses = new FailedAddresses()
  readonly #route: Route
  readonly #clock: Clock
  readonly #random: Random
  readonly #events: RouterEvents
  readonly #dialler: Dialler
  readonly #draining = new Set<LinkState>()
  #targets: (string | undefined)[] = []
  #learned: string[] = []
  #errors: unknown[] = []
  #pause = LEAST_PAUSE
  #timer: Timer | undefined
  #moving: string | undefined
  #seeking: Timer | undefined
  #preferring: Timer | undefined
  /**
   * Links that were opened to ask a member whether it knows a leader. Each key is such a link, and its value
   * is the link that it may replace.
   */
  readonly #visits = new Map<LinkState, LinkState>()
  readonly #silence: SilenceDetector
  readonly #query: LeaderQuery
  readonly #fallbackLink: FallbackLink | undefined
  #closed = false

  constructor(route: Route, clock: Clock, random: Random, events: RouterEvents) {
    this.#route = route
    this.#clock = clock
    this.#random = random
    this.#events = events
    this.#dialler = new Dialler(route, clock, (live) => this.#eventsOf(live))
    this.#silence = new SilenceDetector({
      clock,
      random: random.fork('silence'),
      active: () => this.active,
      awaits: () => events.awaits(),
      suspected: (live, sure) => this.#suspected(live, sure),
      answeredAgain: () => this.#query.end(),
    })
    this.#query = new LeaderQuery({
      clock,
      random: random.fork('leader query'),
      active: () => this.active,
      addresses: () => ('dial' in route ? [] : [...new Set([...this.#learned, ...route.seeds])]),
      dial: (url, arrived, patience, failed) => this.#dial(url, arrived, patience, failed),
      failed: (url, error) => this.#dialFailed(url, error),
      use: (live) => this.#arrived(live),
      move: (from, to) => this.#moved(from, to, true),
      shut: (live) => shut(live),
    })
    this.#fallbackLink = this.#makeFallbackLink()
  }

  #makeFallbackLink(): FallbackLink | undefined {
    if (!('dial' in this.#route) || this.#route.others === undefined) return undefined
    return new FallbackLink({
      clock: this.#clock,
      random: this.#random.fork('third member'),
      others: this.#route.others,
      ownLink: () => this.ownLink,
      active: () => this.active,
      dial: (id, arrived, patience, failed) => this.#dial(id, arrived, patience, failed),
      move: (from, to, all) => this.#moved(from, to, all),
      shut: (live) => shut(live),
    })
  }

  #suspected(live: LinkState, sure: boolean): void {
    if (this.#fallbackLink === undefined) this.#query.suspected(live, sure)
    else if (sure) this.#fallbackLink.leave(live)
  }

  start(): void {
    this.#round(undefined)
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
    this.#seeking?.cancel()
    this.#preferring?.cancel()
    this.#stopDialing()
    this.#query.end()
    this.#fallbackLink?.close()
    this.#silence.stop()
    for (const live of [...this.linksInUse(), ...this.#visits.keys()]) shut(live)
    this.active = this.ownLink = undefined
  }

  linksInUse(): LinkState[] {
    const used = [this.active, this.ownLink].filter((live) => live !== undefined)
    return [...new Set([...used, ...this.#draining])]
  }

  asked(live: LinkState): void {
    this.#silence.asked(live)
  }

  /** Closes a link that the store has left, if the link has no unanswered request and no open view. */
  closeIfDone(live: LinkState): void {
    if (live === this.active || live.inflight.size > 0 || live.views > 0) return
    if (this.#draining.delete(live)) shut(live)
  }

  // ---- Finding a member

  /**
   * Tries all addresses one after another, beginning with a random address. `lost` is the address whose link
   * has just closed. This address comes last.
   */
  #round(lost: string | undefined): void {
    if (this.#closed || this.active) return
    this.#errors = []
    this.#targets = 'dial' in this.#route ? [undefined] : this.#addresses(this.#route.seeds, lost)
    this.#next()
  }

  #addresses(seeds: readonly string[], lost: string | undefined): string[] {
    const all = [...new Set([...seeds, ...this.#learned])]
    const start = this.#random.between(0, all.length)
    const turned = [...all.slice(start), ...all.slice(0, start)].filter((url) => url !== lost)
    return lost === undefined ? turned : [...turned, lost]
  }

  #next(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#closed || this.active) return
    if (this.#targets.length === 0) {
      if (!this.#dialler.isDialling) this.#roundFailed()
      return
    }
    const url = this.#targets.shift()
    this.#timer = this.#clock.after(STAGGER, () => this.#next())
    this.#dial(url, (live) => this.#arrived(live))
  }

  /**
   * Called when the client's token or certificate was replaced. Tries all addresses again immediately, also
   * the addresses that have refused the former token.
   */
  retry(): void {
    if (this.#closed || this.active) return
    this.#events.noUsableAddress(undefined)
    this.#pause = LEAST_PAUSE
    // An attempt to connect that is under way still shows the former token or certificate, so it is ended.
    this.#stopDialing()
    this.#round(undefined)
  }

  #roundFailed(): void {
    const barring = this.#permanentError()
    if (barring) this.#events.noUsableAddress(barring)
    const pause = this.#pause * (0.5 + this.#random.float())
    this.#pause = Math.min(MOST_PAUSE, this.#pause * 2)
    this.#timer = this.#clock.after(pause, () => this.#round(undefined))
  }

  /**
   * Returns the first error of this round, if every address has failed for a permanent reason. Undefined if
   * another attempt may help.
   */
  #permanentError(): LatchkeyError | undefined {
    const lasting = this.#errors.filter(
      (error): error is LatchkeyError => isLatchkeyError(error) && !error.retryable,
    )
    return lasting.length === this.#errors.length ? lasting[0] : undefined
  }

  #dial(
    url: string | undefined,
    arrived: (live: LinkState) => void,
    patience = DIAL_TIMEOUT,
    failed = (error: unknown) => this.#dialFailed(url, error),
  ): void {
    void this.#dialler.dial(url, patience, arrived, failed)
  }

  #dialFailed(url: string | undefined, error: unknown): void {
    this.failedAddresses.failed(url, error)
    if (this.#moving === url) this.#moving = undefined
    if (this.#closed || this.active) return
    this.#errors.push(error)
    this.#events.failed(error)
    this.#next()
  }

  #arrived(live: LinkState): void {
    if (this.#closed || this.active) return shut(live)
    this.#stopDialing()
    this.#pause = LEAST_PAUSE
    this.#events.noUsableAddress(undefined)
    this.#use(live)
  }

  #stopDialing(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#dialler.stop()
    this.#moving = undefined
  }

  #use(live: LinkState): void {
    this.#query.end()
    this.active = live
    if (live.url === undefined) this.ownLink = live
    this.failedAddresses.reached(live.url)
    this.#events.memberRemoved(live.memberRemoved)
    this.#events.active(live)
    if (live.leader) this.#leaderReported(live, live.leader)
    if (live === this.ownLink && live.cutOff) this.#fallbackLink?.cutOff(true)
  }

  // ---- An open link

  #eventsOf(live: LinkState) {
    return {
      reply: (reply: LinkReply) => {
        if (!live.open) return
        if (reply.kind === 'leader') this.#leaderReported(live, reply)
        else this.#events.reply(live, reply)
      },
      closed: (reason: Error) => this.#lost(live, reason),
      memberRemoved: (reason: LatchkeyError | undefined) => {
        live.memberRemoved = reason
        if (live === this.active) this.#events.memberRemoved(reason)
      },
      cutOff: (isCutOff: boolean) => {
        live.cutOff = isCutOff
        if (live === this.ownLink) this.#fallbackLink?.cutOff(isCutOff)
      },
    }
  }

  #leaderReported(live: LinkState, leader: LeaderReply): void {
    live.leader = leader
    if (this.#query.leaderReported(live) || this.#fallbackLink?.leaderReported(live)) return
    const from = this.#visits.get(live)
    if (from) return this.#visit(from, live)
    if (live !== this.active && live !== this.ownLink) return
    this.#learned = leader.members.map(([, url]) => url).filter((url) => url !== '')
    this.#events.leader(live, leader)
    this.#preferLeader(live, leader)
    this.#seekLeader()
  }

  /** Connects to the leader, because every other member must forward the requests to the leader. */
  #preferLeader(live: LinkState, leader: LeaderReply): void {
    const { url } = leader
    if ('dial' in this.#route || url === undefined || leader.id === leader.self) return
    if (url === live.url || this.#moving === url) return
    this.#moving = url
    const arrived = (next: LinkState): void => {
      // While the store was dialling, another member may have become the leader. The new link is still used
      // if the store has no other link.
      if (this.#moving === url || this.active === undefined) this.#moved(live, next, false)
      else shut(next)
    }
    this.#dial(url, arrived, DIAL_TIMEOUT, (error) => {
      this.#dialFailed(url, error)
      if (this.active === live) this.#preferLeaderLater(live)
    })
  }

  /**
   * Dials the leader again later, because the leader may soon be reachable. A member does not report the same
   * leader twice, so without another attempt the store would stay at a follower until the next election.
   */
  #preferLeaderLater(live: LinkState): void {
    this.#preferring?.cancel()
    this.#preferring = this.#clock.after(MOST_PAUSE * (0.5 + this.#random.float()), () => {
      if (live === this.active && live.leader !== undefined) this.#preferLeader(live, live.leader)
    })
  }

  #seekLeader(): void {
    this.#seeking?.cancel()
    this.#seeking = undefined
    if (this.#closed || 'dial' in this.#route || !this.#isLeaderless()) return
    this.#seeking = this.#clock.after(LEADERLESS, () => this.#askAnother())
  }

  #isLeaderless(): boolean {
    return this.active?.leader !== undefined && this.active.leader.id === undefined
  }

  #askAnother(): void {
    const { active } = this
    if (!active || 'dial' in this.#route || !this.#isLeaderless()) return
    const url = this.#addresses(this.#route.seeds, active.url).find((one) => one !== active.url)
    if (url !== undefined) this.#dial(url, (live) => this.#visit(active, live))
    this.#seekLeader()
  }

  /**
   * Moves the store to the member of `live` if this member knows a leader and the member in use still knows
   * none. Otherwise closes `live`. If the member has not reported yet, waits for its first report.
   */
  #visit(from: LinkState, live: LinkState): void {
    this.#visits.delete(live)
    if (live.leader === undefined && from === this.active && !this.#closed) this.#visits.set(live, from)
    else if (live.leader?.id === undefined || !this.#isLeaderless()) shut(live)
    else this.#moved(from, live, true)
  }

  /**
   * Makes `to` the active link. If `all` is true, the unanswered requests on the link `from` are sent again
   * on `to`. If `all` is false, these requests wait for their answers on `from`.
   */
  #moved(from: LinkState, to: LinkState, all: boolean): void {
    this.#moving = undefined
    if (this.#closed || this.active !== from) return this.#arrived(to)
    if (from !== this.ownLink) this.#draining.add(from)
    if (all) this.#events.left(from)
    this.#use(to)
    this.closeIfDone(from)
  }

  #lost(live: LinkState, reason: Error): void {
    if (!live.open) return
    live.open = false
    this.#draining.delete(live)
    this.#visits.delete(live)
    this.#query.lost(live)
    const { active } = this
    if (live === active) this.active = undefined
    if (live === this.ownLink) this.ownLink = undefined
    this.#events.lost(live, reason)
    if (live === active) this.#replace(live)
    this.#fallbackLink?.lost(live)
    // Only the link to the own member of an embedded store has no url. The requests to a third member go
    // through the own member. So the link to the third member ends together with the link to the own member.
    if (live.url === undefined && active !== undefined && active !== live) {
      active.link?.close()
      this.#lost(active, reason)
    }
  }

  #replace(lost: LinkState): void {
    const next = this.#query.take() ?? this.ownLink
    if (next === undefined) this.#round(lost.url)
    else this.#arrived(next)
  }
}
