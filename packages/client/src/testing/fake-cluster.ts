// Driver: members in memory, with the faults of a network and of leaders, for tests of the engine. One state
// machine plays the replicated state. A request that is under way to the state machine survives its link, as
// a proposal survives its member.

import { type Random, text } from '@latchkey/base'
import {
  type Answer,
  type CommandRequest,
  type EventResult,
  LatchkeyError,
  type LinkReply,
  type LinkRequest,
  READ,
  encodeAnswer,
  SESSION_FULL_ANSWER,
  errorAnswer,
  okAnswer,
} from '@latchkey/protocol'
import type { Dial, Link, LinkEvents } from '../link-interface.js'
import { Machine } from './fake-state-machine.js'
import type { World } from './virtual-time.js'

/** The probability of each fault, which is drawn once for each command. */
export interface Faults {
  /** The link closes before the command reaches the state machine. */
  closeBefore: number
  /** The command is applied, and the link closes before the answer. */
  closeAfter: number
  /** The answer is "outcome unknown", although the command is applied. */
  unknownApplied: number
  /** The answer is "outcome unknown", and the command is never applied. */
  unknownDropped: number
  /** The answer is "outcome unknown", and the command is applied up to four seconds later. */
  late: number
  never: number
  /** In ms, not a probability: how long each message is under way. */
  latency: number
}
export const NO_FAULTS: Faults = {
  closeBefore: 0,
  closeAfter: 0,
  unknownApplied: 0,
  unknownDropped: 0,
  late: 0,
  never: 0,
  latency: 2,
}

interface Watch {
  readonly id: number
  next: number
  credit: number
}

export class FakeLink implements Link {
  readonly cluster: FakeCluster
  readonly url: string
  readonly events: LinkEvents
  open = true
  bytes = 0
  /** True if nothing arrives on this link any more, although its member runs. */
  deaf = false
  readonly sent: LinkRequest[] = []
  readonly watches = new Map<number, Watch>()

  constructor(cluster: FakeCluster, url: string, events: LinkEvents) {
    this.cluster = cluster
    this.url = url
    this.events = events
  }

  received(): number {
    return this.bytes
  }

  probe(): void {
    this.cluster.probes++
    const { latency } = this.cluster.faults
    this.#arrive(latency, () => this.hear(latency, () => {}))
  }

  /**
   * True if the member of this link has stopped, or if the connection is cut. The link stays open, and
   * messages that are under way wait.
   */
  get silent(): boolean {
    return this.cluster.silent.has(this.url)
  }

  #arrive(delay: number, run: () => void): void {
    const arrive = () => {
      if (this.deaf) return
      if (this.silent) this.cluster.stuck.push(arrive)
      else run()
    }
    this.cluster.world.after(delay, arrive)
  }

  hear(delay: number, run: () => void): void {
    this.#arrive(delay, () => {
      this.bytes++
      run()
    })
  }

  send(request: LinkRequest): void {
    if (!this.open) return
    this.sent.push(request)
    this.cluster.requests.push(request)
    this.#arrive(this.cluster.faults.latency, () => this.cluster.handle(this, request))
  }

  tell(reply: LinkReply, delay = this.cluster.faults.latency): void {
    this.hear(delay, () => {
      if (this.open) this.events.reply(reply)
    })
  }

  close(): void {
    this.open = false
    this.cluster.links.delete(this)
  }

  break(): void {
    if (!this.open) return
    this.close()
    this.events.closed(new LatchkeyError('ERR_NO_LEADER', 'the link broke'))
  }
}

export class FakeCluster {
  readonly world: World
  readonly random: Random
  readonly machine = new Machine()
  readonly links = new Set<FakeLink>()
  readonly requests: LinkRequest[] = []
  readonly urls: readonly string[]
  readonly down = new Set<string>()
  /** Members that are cut off from the other members, or were removed. These members know no leader. */
  readonly cutOff = new Set<string>()
  /** Members that have stopped and send nothing. `stuck` has the messages that wait at these members. */
  readonly silent = new Set<string>()
  stuck: (() => void)[] = []
  probes = 0
  faults: Faults = { ...NO_FAULTS }
  leader: string | undefined
  term = 1
  clusterId = 'cluster-1'
  electionTimeout = 1_000
  dials = 0
  refusal: LatchkeyError | undefined
  /** If true, commands are applied but not answered. */
  mute = false
  /** If true, every numbered command gets the answer "the session is full" and is not executed. */
  busy = false
  readDelay = 0
  /** The cluster time in stored answers to repeated calls. A correct member sends 0. */
  tableTime = 0
  page: ((link: FakeLink, request: Extract<LinkRequest, { kind: 'read' }>) => Answer | undefined) | undefined
  admin:
    | ((request: Extract<LinkRequest, { kind: 'admin' }>) => { answer: Answer; never: boolean } | undefined)
    | undefined

  constructor(world: World, random: Random, urls: readonly string[] = ['a']) {
    this.world = world
    this.random = random
    this.urls = urls
    this.leader = urls[0]
  }

  dialTo(url: string): Dial {
    return (events, signal) =>
      new Promise((resolve, reject) => {
        this.dials++
        signal.addEventListener('abort', () => reject(signal.reason as Error))
        this.world.after(this.faults.latency, () => {
          if (this.silent.has(url)) return
          if (this.refusal) return reject(this.refusal)
          if (this.down.has(url)) return reject(new LatchkeyError('ERR_NO_LEADER', `${url} is down`))
          const link = new FakeLink(this, url, events)
          this.links.add(link)
          link.tell(this.#leaderReply(url), 0)
          resolve(link)
        })
      })
  }

  #leaderReply(self: string): LinkReply {
    const { term, clusterId } = this
    const leader = this.cutOff.has(self) ? undefined : this.leader
    const role = leader === self ? 'leader' : 'follower'
    const members = this.urls.map((url) => [url, url, 'voter'] as const)
    const { electionTimeout } = this
    return { kind: 'leader', id: leader, url: leader, term, role, self, clusterId, members, electionTimeout }
  }

  elect(leader: string | undefined): void {
    this.leader = leader
    if (leader !== undefined) this.term++
    for (const link of this.links) link.tell(this.#leaderReply(link.url), 0)
  }

  /** Lets a silent member run again, and delivers the messages that have waited. */
  wake(url: string): void {
    this.silent.delete(url)
    for (const run of this.stuck.splice(0)) run()
  }

  kill(url: string): void {
    this.down.add(url)
    for (const link of [...this.links]) if (link.url === url) link.break()
    if (this.leader === url) this.elect(undefined)
  }

  handle(link: FakeLink, request: LinkRequest): void {
    if (!link.open && request.kind !== 'command') return
    switch (request.kind) {
      case 'command':
        return this.#command(link, request)
      case 'read':
        this.world.after(this.readDelay, () => this.#read(link, request))
        return
      case 'watch':
        link.watches.set(request.id, {
          id: request.id,
          next: request.from || this.machine.revision + 1,
          credit: 0,
        })
        return
      case 'watchMore': {
        const watch = link.watches.get(request.id)
        if (watch) watch.credit += request.events
        return this.pushEvents(link)
      }
      case 'watchEnd':
        link.watches.delete(request.id)
        return
      case 'attach':
        return
      case 'admin': {
        const { answer, never } = this.admin?.(request) ?? { answer: okAnswer(null), never: false }
        return link.tell({ kind: 'answer', id: request.id, time: 0, never, answer })
      }
    }
  }

  // ---- commands

  #command(link: FakeLink, request: CommandRequest): void {
    const { random, faults } = this
    // The link broke while the request was under way. Perhaps the request has arrived.
    if (!link.open && random.chance(0.5)) return
    if (this.leader === undefined || this.cutOff.has(link.url) || random.chance(faults.never))
      return this.#answer(link, request.id, errorAnswer('ERR_NO_LEADER'), 0, true)
    if (random.chance(faults.closeBefore)) return link.break()
    if (random.chance(faults.unknownDropped)) return this.#lostTrack(link, request)
    if (random.chance(faults.late)) {
      this.world.after(random.between(1, 4_000), () => this.#apply(request))
      return this.#lostTrack(link, request)
    }
    this.#decide(link, request)
  }

  #decide(link: FakeLink, request: CommandRequest): void {
    if (this.busy && request.number > 0) return this.#answer(link, request.id, SESSION_FULL_ANSWER, 0, false)
    const { answer, fromTable } = this.#apply(request)
    if (this.mute) return
    if (this.random.chance(this.faults.closeAfter)) return link.break()
    if (this.random.chance(this.faults.unknownApplied)) return this.#lostTrack(link, request)
    this.#answer(link, request.id, answer, fromTable ? this.tableTime : this.machine.time, false)
  }

  #apply({ session, number, done, body }: CommandRequest) {
    const applied = this.machine.apply(session, number, done, body, Math.floor(this.world.now))
    for (const link of this.links) this.pushEvents(link)
    return applied
  }

  #lostTrack(link: FakeLink, request: CommandRequest): void {
    this.#answer(link, request.id, errorAnswer('ERR_OUTCOME_UNKNOWN'), 0, false)
  }

  #answer(link: FakeLink, id: number, answer: Answer, time: number, never: boolean): void {
    link.tell({
      kind: 'answer',
      id,
      time,
      never,
      answer: this.random.chance(0.5) ? encodeAnswer(answer) : answer,
    })
  }

  // ---- reads and watches

  #read(link: FakeLink, request: Extract<LinkRequest, { kind: 'read' }>): void {
    const paged = this.page?.(link, request)
    if (paged) return this.#answer(link, request.id, paged, 0, false)
    if (this.page && (request.read[0] === READ.page || request.read[0] === READ.closeView)) return
    if ((this.leader === undefined || this.cutOff.has(link.url)) && !request.stale)
      return this.#answer(link, request.id, errorAnswer('ERR_NO_LEADER'), 0, true)
    const result = this.#result(request.read[0], request.read[1])
    this.#answer(link, request.id, okAnswer(result), this.machine.time, false)
  }

  #result(kind: number, key: unknown): unknown {
    if (kind === READ.revision) return this.machine.revision
    const value = this.machine.data.get(text(key as Uint8Array))
    return value === undefined ? null : Buffer.from(value)
  }

  /**
   * Sends as many events as the credit allows, one event in each message. Each revision has one event, so
   * each message completes a revision.
   */
  pushEvents(link: FakeLink): void {
    for (const watch of link.watches.values()) {
      const events = this.machine.events.filter(([revision]) => revision >= watch.next)
      for (const event of events.slice(0, Math.max(0, watch.credit))) {
        watch.credit--
        watch.next = event[0] + 1
        this.tellEvent(link, watch.id, event)
      }
    }
  }

  tellEvent(link: FakeLink, id: number, event: EventResult): void {
    link.tell({ kind: 'events', ids: [id], events: [event], upTo: event[0] })
  }
}
