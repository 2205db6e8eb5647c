// Driver: one member of a test cluster. The process of the member can be killed and started again, and the
// simulated disk of the member stays. The process runs the same code as open().
//
// Laws
// - A killed member behaves like a crashed process. Its unfinished work stops, and calls of its store end
//   with ERR_CLOSED. After a restart, its disk has only the data that was synced.
// - A paused member behaves like a process under SIGSTOP. The member receives nothing, and its clocks
//   continue. A resumed member receives all messages in their order.

import { type Random, microtask } from '@latchkey/base'
import type { ClientStore } from '@latchkey/client'
import { SimulatedRowStorage } from '@latchkey/kv'
import { type As, LatchkeyError, type LinkReply } from '@latchkey/protocol'
import { Host, type HostProcess, MemoryDisk, type MemoryNetwork, type Timeline } from '@latchkey/raft/memory'
import type { Member } from '../member/member.js'
import { ANONYMOUS } from '../member/identity-and-rights.js'
import { type EmbeddedStore, OpenedMember } from '../open/index.js'
import type { MemberWorld } from '../open/member-clock-disk-and-network.js'
import type { Settings } from '../open/options.js'
import type { ServingMember } from './client-network.js'

interface TestMemberPorts {
  readonly timeline: Timeline
  readonly network: MemoryNetwork
  readonly random: Random
  /** The date at the start of the cluster, in ms since 1970. */
  readonly wall: number
}

export class TestMember implements ServingMember {
  readonly id: string
  readonly host: Host
  readonly #settings: Settings
  readonly #ports: TestMemberPorts
  readonly #disk: MemoryDisk
  readonly #storage = new SimulatedRowStorage()
  #opened: OpenedMember | undefined
  #store: EmbeddedStore | undefined
  #gone = new Set<(silent: boolean) => void>()

  constructor(index: number, settings: Settings, ports: TestMemberPorts) {
    this.id = settings.id
    this.#settings = settings
    this.#ports = ports
    this.host = new Host(ports.timeline, index, this.id, ports.random, {
      rate: 1,
      uptime: 0,
      wallAhead: ports.wall,
      lateness: () => 0,
    })
    this.#disk = new MemoryDisk({
      schedule: (_op, run) => microtask(() => this.host.life?.deliver(run)),
    })
  }

  /** The store of the last process, even if that process was killed. */
  get store(): EmbeddedStore {
    if (this.#store === undefined) throw new LatchkeyError('ERR_CLOSED', `${this.id} was never started.`)
    return this.#store
  }

  get isRunning(): boolean {
    return this.host.life?.running === true && this.#opened !== undefined
  }

  get isUp(): boolean {
    return this.member !== undefined
  }

  get isReady(): boolean {
    return this.#opened?.isReady() === true
  }

  get serves(): boolean {
    return this.member?.isOutside === false && !this.member.replica.isAsking
  }

  get clusterId(): string {
    return this.member?.replica.clusterId ?? ''
  }

  get member(): Member | undefined {
    return this.#opened?.current
  }

  clientConnection(tell: (reply: LinkReply) => void): ReturnType<Member['clientConnection']> {
    return (this.member as Member).clientConnection(tell, ANONYMOUS, 'websocket')
  }

  onGone(run: (silent: boolean) => void): void {
    this.#gone.add(run)
  }

  async start(): Promise<void> {
    if (this.host.life !== undefined) throw new TypeError(`${this.id} runs already`)
    const process = this.host.start()
    try {
      const opened = await OpenedMember.open(this.#settings, undefined, this.#worldOf(process))
      if (process.dead) throw new LatchkeyError('ERR_CLOSED', `${this.id} was killed while it started.`)
      opened.onGone(() => this.#tellGone())
      this.#opened = opened
      this.#store = opened.store
    } catch (error) {
      if (!process.dead) this.#end(process)
      throw error
    }
  }

  #worldOf(process: HostProcess): MemberWorld {
    return {
      clock: process.clock,
      nextTurn: process.defer,
      transport: (owner) => this.#ports.network.open(this.id, owner, process),
      takeStorage: async () => ({
        rows: this.#storage,
        fs: this.#disk,
        dir: 'log',
        diskUse: undefined,
        note: undefined,
        // Called at the end of close(), if the test closes the store.
        release: async () => this.#end(process),
      }),
    }
  }

  kill(): void {
    const process = this.host.life
    if (process === undefined) return
    const store = this.#opened?.store
    this.#end(process)
    this.#disk.crash(this.#ports.random, 'all')
    this.#storage.crash('lost')
    if (store !== undefined) endStore(store)
  }

  #end(process: HostProcess): void {
    if (this.host.life !== process) return
    this.#opened = undefined
    this.host.die()
    // The simulated machine must not stay paused after the end of its process.
    while (this.host.stopped) this.host.resume(false)
    this.#ports.network.died(this.id, false)
    this.#tellGone()
  }

  #tellGone(): void {
    const gone = this.#gone
    this.#gone = new Set()
    for (const run of gone) run(false)
  }

  pause(): void {
    if (!this.host.stopped) this.host.stop(false)
  }

  resume(): void {
    this.host.resume(false)
  }
}

/** All calls end immediately with ERR_CLOSED. A killed process releases nothing and waits for no answer. */
export function endStore(store: ClientStore<As>): void {
  void store.close()
  store.engine.close()
}
