// Test: three whole members in one process, their disks and network simulated, time by hand: the same to the
// last count each time. What they do to disks and network is counted.

import { seededRandom, silentLogger, Turns } from '@latchkey/base'
import { ClientStore } from '@latchkey/client'
import { KvMachine, SimulatedRowStorage, type RowBuilder, type RowStorage, type RowStore } from '@latchkey/kv'
import type { LinkReply } from '@latchkey/protocol'
import { type DiskOp, ManualClock, MemoryDisk } from '@latchkey/raft/memory'
import { Member } from '../../../../packages/latchkey/src/member/member.js'
import { ANONYMOUS } from '../../../../packages/latchkey/src/member/identity-and-rights.js'
import { Wire, type WireWorld } from './wire.js'

/** How long things take here: what comes meanwhile gathers, as it does on a machine. */
const SYNC_MILLIS = 0.3
const LEVEL_MILLIS = 1
const CLIENT_MILLIS = 0.1
const STEP_MILLIS = 0.05

const IDS = ['a', 'b', 'c'] as const
const MEMBERS = Object.fromEntries(IDS.map((id) => [id, `ws://${id}`]))

export interface Counts {
  /** In the log. */
  entries: number
  /** Of all three members together. */
  syncs: number
  logBytes: number
  frames: number
  frameBytes: number
  levelBatches: number
  levelBytes: number
}

export class CountedWorld implements WireWorld {
  readonly clock = new ManualClock()
  readonly wires = new Map<string, Wire>()
  readonly frames = { count: 0, bytes: 0 }
  readonly #disk = { syncs: 0, bytes: 0 }
  readonly #level = { batches: 0, bytes: 0 }
  readonly #random = seededRandom('counts')
  readonly #members: Member[] = []
  #turn: (() => void)[] = []
  #ids = 0

  static async start(): Promise<CountedWorld> {
    const world = new CountedWorld()
    const opening = Promise.all(IDS.map((id) => world.#open(id)))
    let opened = false
    void opening.then(() => {
      opened = true
    })
    await world.until(() => opened)
    world.#members.push(...(await opening))
    for (const wire of world.wires.values()) wire.setPeers(others(wire.id))
    await world.until(() => world.#leader() !== undefined)
    return world
  }

  #open(id: string): Promise<Member> {
    const turns = new Turns((run) => this.#turn.push(run))
    return Member.open(
      {
        ...{ id, members: MEMBERS, join: false, electionTimeout: 1000, heartbeat: 100 },
        ...{
          snapshot: { everyEntries: 50_000, everyBytes: 16 * 1024 * 1024 },
          maxInFlightBytes: 16 * 1024 * 1024,
        },
      },
      {
        fs: new MemoryDisk({ schedule: (op, run) => this.#onDisk(op, run) }),
        ...{ dir: 'log', version: 'counted' },
        ...{ clock: this.clock, random: this.#random.fork(id), logger: silentLogger },
        defer: turns.work,
        newId: () => this.#newId(),
        transport: (owner) => new Wire(this, id, owner, turns.end),
        machine: (hooks) =>
          new KvMachine({
            storage: this.#storage(),
            clock: this.clock,
            logger: silentLogger,
            nextTurn: turns.work,
            ...hooks,
          }),
        rebuild: () => {
          throw new Error('nothing is lost here')
        },
      },
    )
  }

  #newId(): string {
    return (++this.#ids).toString(16).padStart(32, '0')
  }

  #onDisk({ kind, bytes }: DiskOp, run: () => void): void {
    if (kind === 'sync') this.#disk.syncs++
    if (kind === 'write') this.#disk.bytes += bytes
    this.after(kind === 'sync' ? SYNC_MILLIS : 0, run)
  }

  /** Rows whose batches are counted and take their time. */
  #storage(): RowStorage {
    const storage = new SimulatedRowStorage()
    const counted = (store: RowStore): RowStore => ({
      get: (key) => store.get(key),
      view: () => store.view(),
      compact: () => store.compact(),
      close: () => store.close(),
      write: async (batch) => {
        this.#level.batches++
        for (const { key, value } of batch) this.#level.bytes += key.length + (value?.length ?? 0)
        await new Promise<void>((resolve) => this.after(LEVEL_MILLIS, resolve))
        await store.write(batch)
      },
    })
    return {
      open: async () => {
        const store = await storage.open()
        return store === undefined ? undefined : counted(store)
      },
      build: (): Promise<RowBuilder> => storage.build(),
      sweep: () => storage.sweep(),
      discard: () => storage.discard(),
    }
  }

  // ---- time

  defer(run: () => void): void {
    this.#turn.push(run)
  }

  after(millis: number, run: () => void): void {
    this.clock.after(millis, run)
  }

  /** Turn after turn, and time goes on when there is nothing left to do. */
  async until(done: () => boolean): Promise<void> {
    for (const limit = this.clock.now() + 60_000; !done(); this.clock.advance(STEP_MILLIS)) {
      if (this.clock.now() > limit) throw new Error('not within a minute')
      do {
        const turn = this.#turn
        this.#turn = []
        for (const run of turn) run()
        await new Promise((resolve) => setImmediate(resolve))
      } while (this.#turn.length > 0)
    }
  }

  // ---- who uses it

  #leader(): Member | undefined {
    return this.#members.find(({ replica }) => replica.node.role === 'leader')
  }

  /** A client with a seat at the leader; what it asks and is told takes its time. */
  async connect(): Promise<ClientStore> {
    const store = new ClientStore({
      ...{ clock: this.clock, random: this.#random.fork('client'), newId: () => this.#newId() },
      route: {
        dial: async (events) => {
          let replies: LinkReply[] = []
          const flush = () => {
            const told = replies
            replies = []
            this.after(CLIENT_MILLIS, () => {
              for (const reply of told) events.reply(reply)
            })
          }
          const seat = (this.#leader() as Member).clientConnection(
            (reply) => {
              if (replies.push(reply) === 1) this.defer(flush)
            },
            ANONYMOUS,
            'websocket',
          )
          return {
            send: (request) => this.after(CLIENT_MILLIS, () => seat.send(request)),
            close: () => seat.close(),
          }
        },
      },
    })
    await this.#finish(store.put('ready', 'yes'))
    return store
  }

  async #finish<Result>(work: Promise<Result>): Promise<Result> {
    let settled = false
    const over = () => {
      settled = true
    }
    work.then(over, over)
    await this.until(() => settled)
    return work
  }

  /** What `work` cost, for a thousand of its commands. */
  async costOf(commands: number, work: () => Promise<unknown>): Promise<Counts> {
    const before = this.#counts()
    await this.#finish(work())
    const worked = this.#counts()
    // What gathers for LevelDB is written within 200 ms.
    const idle = this.clock.now() + 250
    await this.until(() => this.clock.now() >= idle)
    const { levelBatches, levelBytes } = this.#counts()
    const after = { ...worked, levelBatches, levelBytes }
    const part = (name: keyof Counts) => Math.round(((after[name] - before[name]) * 1000) / commands)
    return Object.fromEntries(
      (Object.keys(after) as (keyof Counts)[]).map((name) => [name, part(name)]),
    ) as unknown as Counts
  }

  #counts(): Counts {
    return {
      entries: (this.#leader() as Member).replica.node.raft.lastIndex,
      ...{ syncs: this.#disk.syncs, logBytes: this.#disk.bytes },
      ...{ frames: this.frames.count, frameBytes: this.frames.bytes },
      ...{ levelBatches: this.#level.batches, levelBytes: this.#level.bytes },
    }
  }

  /** Members end with the process: nothing of them is real. */
  async close(store: ClientStore): Promise<void> {
    await this.#finish(store.close())
  }
}

const others = (id: string) => Object.fromEntries(Object.entries(MEMBERS).filter(([one]) => one !== id))
