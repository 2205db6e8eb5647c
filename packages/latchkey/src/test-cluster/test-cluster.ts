// Driver: a cluster inside this process, for tests. Real members run on simulated disks, a simulated network
// and simulated time. The cluster opens no port and writes no file.

import { newId, seededRandom } from '@latchkey/base'
import {
  checkConnect,
  type ClientStore,
  type ClientEnvironment,
  connectIn,
  type Store,
} from '@latchkey/client'
import { type As, type Duration, LatchkeyError, millis, show } from '@latchkey/protocol'
import { Cuts, Host, MemoryNetwork } from '@latchkey/raft/memory'
import type { EmbeddedStore } from '../open/index.js'
import { ClientNetwork } from './client-network.js'
import {
  checkTestOptions,
  type MemberIds,
  type TestClusterOptions,
  type TestSettings,
  urlOf,
} from './options.js'
import type { TestCluster, TestConnectOptions, TestStores } from './test-cluster-types.js'
import { endStore, TestMember } from './test-member.js'
import { TestTime } from './test-time.js'

/** Messages arrive without a delay, and the end of a connection is noticed without a delay. */
const NO_DELAY = { base: 0, tail: 0, closing: { within: 0, gap: 0 } } as const
/**
 * The times are in microseconds. `pulse`: as with real sockets, members notice a silent connection after 3 s,
 * and clients after 5 s.
 */
const MEMBERS = {
  ...NO_DELAY,
  // Members pass frames to each other as objects. To encode each heartbeat would double the real time that a
  // simulated hour takes.
  encoded: false,
  pulse: [3_000_000, 3_000_000],
  dial: { first: [0, 0], afterEnd: [0, 0], again: [100_000, 100_000] },
} as const
const CLIENTS = { ...NO_DELAY, encoded: true, pulse: [5_000_000, 5_000_000], dialling: [0, 0] } as const
/** The number of the first machine of a client. The machines of members have lower numbers. */
const FIRST_CLIENT = 100
/**
 * In ms. Before testCluster() resolves, time advances by this value, because a cluster time of 0 means an
 * unknown time.
 */
const FIRST_MS = 1_000
/** In ms. The longest wait of `leader()`. */
const LEADER_MS = 30_000

/**
 * Starts a cluster in this process, for tests. The members run the real code, but keep their data in memory
 * and open no ports.
 * ```ts
 * await using cluster = await testCluster({ members: 3, clock: 'manual' })
 * const hold = await cluster.stores.a.locks.acquire('orders/42', { lease: '10s', renew: false })
 * await cluster.advance('1h')
 * hold.held // false
 * ```
 * Resolves when the cluster has a leader and every member can serve.
 */
export async function testCluster<Count extends keyof MemberIds = 3, S extends As = 'bytes'>(
  options: TestClusterOptions<Count, S> = {},
): Promise<TestCluster<MemberIds[Count], S>> {
  const cluster = new MemoryCluster<MemberIds[Count]>(checkTestOptions(options))
  try {
    await cluster.begin()
    // The members were opened with the option `as`, whose type is `S`.
    return cluster as TestCluster<MemberIds[Count], As> as TestCluster<MemberIds[Count], S>
  } catch (error) {
    await cluster.close()
    throw error
  }
}

class MemoryCluster<Id extends string> implements TestCluster<Id> {
  readonly stores: TestStores<Id>
  readonly #stores = new Map<string, EmbeddedStore>()
  readonly #settings: TestSettings
  readonly #time = new TestTime()
  readonly #random = seededRandom(newId())
  readonly #wall = TestTime.wall()
  readonly #cuts = new Cuts(() => this.#changed())
  readonly #members: readonly TestMember[]
  readonly #network: MemoryNetwork
  readonly #clients: ClientNetwork
  /** The simulated machines of the remote stores. */
  readonly #hosts: Host[] = []
  readonly #remote = new Set<ClientStore<As>>()
  readonly #isolated = new Set<TestMember>()
  #closed = false

  constructor(settings: TestSettings) {
    this.#settings = settings
    const refuses = (id: string) => this.#members.some((member) => member.id === id && !member.host.dark)
    this.#network = new MemoryNetwork(this.#time, this.#cuts, this.#random.fork('members'), MEMBERS, refuses)
    this.#clients = new ClientNetwork(this.#time, this.#cuts, this.#random.fork('clients'), CLIENTS, (url) =>
      this.#members.find(({ id }) => urlOf(id) === url),
    )
    this.#members = settings.ids.map(
      (id, index) =>
        new TestMember(index, settings.settingsOf(id), {
          timeline: this.#time,
          network: this.#network,
          random: this.#random.fork(id),
          wall: this.#wall,
        }),
    )
    this.stores = byId(settings.ids, this.#stores) as TestStores<Id>
  }

  /**
   * Until all members are ready, simulated time jumps from each event to the next, even with `clock: 'real'`.
   * So the first election does not depend on how long the start takes.
   */
  async begin(): Promise<void> {
    await Promise.all(this.#members.map((member) => this.#open(member)))
    const ready = Promise.all(this.#members.map(({ store }) => store.ready({ timeout: LEADER_MS })))
    await this.#waitFor(ready)
    // A holder treats cluster time 0 as unknown (ClusterTimeBound), so no hold would be in force at time 0.
    // Therefore the time first advances, and the log then gets an entry with the new time. The entry deletes
    // a missing key, so the revision does not change.
    await this.#time.advance(FIRST_MS)
    const [first] = this.#members
    await first?.store.delete('test cluster')
    if (!this.#settings.isManual) this.#time.run()
  }

  async #open(member: TestMember): Promise<void> {
    await member.start()
    this.#stores.set(member.id, member.store)
    this.#network.dialNow(member.id)
  }

  async #waitFor<T>(what: Promise<T>): Promise<T> {
    let over = false
    const settled = () => {
      over = true
    }
    what.then(settled, settled)
    await this.#time.until(() => over, LEADER_MS + 1)
    return what
  }

  get ids(): readonly Id[] {
    return this.#settings.ids as readonly Id[]
  }

  async leader(): Promise<Id> {
    this.#check()
    const { isManual } = this.#settings
    await this.#time.until(() => this.#leader() !== undefined || (isManual && !this.#canElect()), LEADER_MS)
    this.#check()
    const found = this.#leader()
    if (found !== undefined) return found.id as Id
    const missing = this.#members.filter(({ isRunning }) => !isRunning).map(({ id }) => id)
    throw new LatchkeyError(
      'ERR_NO_LEADER',
      `No member leads a majority of this test cluster. ${missing.length > 0 ? `Not running: ${missing.join(', ')}.` : 'All members run: call heal().'}`,
      { missing },
    )
  }

  #leader(): TestMember | undefined {
    const raftOf = (member: TestMember) => member.member?.replica.node.raft
    const leaders = this.#members.filter((one) => one.isRunning && raftOf(one)?.role === 'leader')
    const newest = leaders.sort((a, b) => (raftOf(b)?.term ?? 0) - (raftOf(a)?.term ?? 0))[0]
    if (newest === undefined) return undefined
    return this.#reachesMajority(newest) ? newest : undefined
  }

  #reachesMajority(from: TestMember): boolean {
    const reached = this.#members.filter((to) => from.isRunning && this.#reaches(from, to))
    return reached.length * 2 > this.#members.length
  }

  /** If no member reaches a majority, no election can succeed, however far time advances. */
  #canElect(): boolean {
    return this.#members.some((one) => this.#reachesMajority(one))
  }

  #reaches(from: TestMember, to: TestMember): boolean {
    return to.isRunning && !this.#cuts.blocked(from.host.index, to.host.index)
  }

  async connect<S extends As = 'bytes'>(options: TestConnectOptions<S> = {}): Promise<Store<S>> {
    this.#check()
    const settings = checkConnect(
      this.#settings.ids.map((id) => urlOf(id)),
      { logger: false, ...options },
    )
    const host = this.#newHost()
    const process = host.start()
    const dial: ClientEnvironment['dial'] = (url, identity) => this.#clients.dialTo(process, url, identity)
    const store = await connectIn<S>({ clock: process.clock, dial }, settings)
    this.#remote.add(store)
    return store
  }

  #newHost(): Host {
    const index = FIRST_CLIENT + this.#hosts.length
    const options = { rate: 1, uptime: 0, wallAhead: this.#wall, lateness: () => 0 }
    const host = new Host(this.#time, index, `client ${index}`, this.#random.fork(`host ${index}`), options)
    this.#hosts.push(host)
    for (const member of this.#isolated) this.#cutBetween(member.host, host)
    return host
  }

  async kill(id: Id): Promise<void> {
    this.#member(id).kill()
    if (this.#settings.isManual)
      await this.#time.until(() => this.#leader() !== undefined || !this.#canElect(), LEADER_MS)
  }

  async start(id: Id): Promise<void> {
    const member = this.#member(id)
    await this.#open(member)
    const isAlone = () => {
      const leader = this.#leader()
      return leader === undefined || !this.#reaches(leader, member)
    }
    await this.#time.until(() => member.isReady || isAlone(), LEADER_MS)
  }

  async pause(id: Id): Promise<void> {
    const member = this.#member(id)
    if (!member.isUp) throw new TypeError(`${id} does not run: start it before you pause it`)
    member.pause()
  }

  async resume(id: Id): Promise<void> {
    this.#member(id).resume()
    this.#network.dialNow(id)
  }

  async cut(a: Id, b?: Id): Promise<void> {
    const from = this.#member(a)
    if (b === undefined) {
      this.#isolated.add(from)
      const others = [...this.#members.map(({ host }) => host), ...this.#hosts]
      for (const host of others) if (host !== from.host) this.#cutBetween(from.host, host)
      return
    }
    if (a === b) throw new TypeError(`cut needs two members; got ${JSON.stringify(a)} twice`)
    this.#cutBetween(from.host, this.#member(b).host)
  }

  #cutBetween(a: Host, b: Host): void {
    this.#cuts.cut(a.index, b.index)
    this.#cuts.cut(b.index, a.index)
  }

  async heal(): Promise<void> {
    this.#check()
    this.#isolated.clear()
    this.#cuts.heal()
    for (const id of this.ids) this.#network.dialNow(id)
  }

  #changed(): void {
    this.#network.changed()
    this.#clients.changed()
  }

  async advance(duration: Duration): Promise<void> {
    const ms = millis(duration, 'duration')
    this.#check()
    if (!this.#settings.isManual)
      throw new TypeError("advance moves a clock that stands: give testCluster clock: 'manual'")
    await this.#time.advance(ms)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const host of this.#hosts) host.die()
    for (const store of this.#remote) endStore(store)
    for (const member of this.#members) member.kill()
    this.#time.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #check(): void {
    if (this.#closed) throw new LatchkeyError('ERR_CLOSED', 'This test cluster is closed.')
  }

  #member(id: string): TestMember {
    this.#check()
    const found = this.#members.find((member) => member.id === id)
    if (found !== undefined) return found
    throw new TypeError(
      `there is no member ${show(id)} in this test cluster: ${this.#settings.ids.join(', ')}`,
    )
  }
}

/** Makes `stores.a` the same as `stores.get('a')`. */
function byId(ids: readonly string[], stores: Map<string, EmbeddedStore>): unknown {
  for (const id of ids)
    Object.defineProperty(stores, id, { enumerable: true, configurable: true, get: () => stores.get(id) })
  return stores
}
