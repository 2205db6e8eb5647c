// Rule: the state machine of one member with a log of its own. Tests give it one command after the other.

import { type Clock, type Timer, text, utf8 } from '@latchkey/base'
import { type Answer, type Command, encodeCommand, unpack } from '@latchkey/protocol'
import type { Entry, EntryKind, Membership } from '@latchkey/raft/core'
import type { Applied } from '@latchkey/raft/node'
import { type CommandRecord, encodeBatch } from '../commands/log-entry-records.js'
import { KvMachine } from '../key-value-state-machine.js'
import { SimulatedRowStorage } from '../storage/simulated-row-store.js'
import type { RowStorage } from '../storage/row-store-interface.js'
import type { KvOptions } from '../kv-store-types.js'

export const MEMBERS: Membership = {
  voters: ['a', 'b', 'c'],
  outgoing: [],
  learners: [],
  learnersNext: [],
  peers: { a: { url: 'ws://a', incarnation: '1' } },
}

/** A clock that moves only when a test advances it. */
export class HandClock implements Clock {
  #now = 0
  #timers: { due: number; run: () => void }[] = []

  now(): number {
    return this.#now
  }
  instant() {
    return { hr: this.#now, up: this.#now, wall: this.#now }
  }
  after(ms: number, run: () => void): Timer {
    const timer = { due: this.#now + ms, run }
    this.#timers.push(timer)
    return { cancel: () => void (this.#timers = this.#timers.filter((one) => one !== timer)) }
  }
  get armed(): number {
    return this.#timers.length
  }
  advance(ms: number): void {
    this.#now += ms
    const due = this.#timers.filter((timer) => timer.due <= this.#now)
    this.#timers = this.#timers.filter((timer) => timer.due > this.#now)
    for (const timer of due) timer.run()
  }
}

export const k = utf8
export const record = (session: number, number: number, command: Command, done = 0): CommandRecord => ({
  session,
  number,
  done,
  body: encodeCommand(command),
})

/** One member: its state machine, its entries, and a session for its commands. */
export class World {
  readonly clock = new HandClock()
  readonly storage: RowStorage
  readonly log: Entry[] = []
  readonly granted: unknown[] = []
  /** How many parties were told that their wait has ended. */
  ended = 0
  machine: KvMachine
  time = 1000
  session = 0
  #number = 0
  readonly #options: Partial<KvOptions>

  constructor(options: Partial<KvOptions> = {}) {
    this.#options = options
    this.storage = options.storage ?? new SimulatedRowStorage()
    this.machine = this.#machine()
  }

  #machine(): KvMachine {
    return new KvMachine({
      clock: this.clock,
      nextTurn: setImmediate,
      ended: () => void this.ended++,
      granted: (session, key, owner) => this.granted.push([session, text(key), owner]),
      ...this.#options,
      storage: this.storage,
    })
  }

  static async open(options: Partial<KvOptions> = {}): Promise<World> {
    const world = new World(options)
    await world.machine.open()
    world.session = await world.openSession()
    return world
  }

  async openSession(life = 30_000): Promise<number> {
    const [answer] = await this.answers([{ session: 0, number: 0, done: 0, body: encodeCommand([1, life]) }])
    return (answer as Answer)[1] as number
  }

  entry(data: Uint8Array, kind: EntryKind = 'commands'): Entry {
    const entry = { index: this.log.length + 1, term: 1, time: this.time, kind, data }
    this.log.push(entry)
    return entry
  }

  async apply(...entries: Entry[]): Promise<readonly Applied[]> {
    return await this.machine.apply(entries, () => MEMBERS)
  }

  /** Applies an entry without commands, which only advances cluster time. */
  async tick(ms: number): Promise<void> {
    this.time += ms
    await this.apply(this.entry(new Uint8Array(0), 'empty'))
  }

  async raw(list: readonly CommandRecord[]): Promise<readonly { bytes: Uint8Array; fromTable: boolean }[]> {
    const [applied] = await this.apply(this.entry(encodeBatch(list)))
    return applied?.answers ?? []
  }

  async answers(list: readonly CommandRecord[]): Promise<Answer[]> {
    return (await this.raw(list)).map(({ bytes }) => unpack(bytes) as Answer)
  }

  /**
   * Makes the next record. `done` says that all earlier calls are finished, as for a client that awaits each
   * call.
   */
  next(command: Command, done = this.#number + 1): CommandRecord {
    return record(this.session, ++this.#number, command, done)
  }

  /** Applies commands of the world's session in one entry. Returns their results or error answers. */
  async run(...commands: Command[]): Promise<unknown[]> {
    const done = this.#number + 1
    const answers = await this.answers(commands.map((command) => this.next(command, done)))
    return answers.map((answer) => (answer[0] === 0 ? answer[1] : answer))
  }

  async one(command: Command): Promise<unknown> {
    return (await this.run(command))[0]
  }

  async restart(): Promise<void> {
    await this.machine.close()
    await this.reopen()
  }

  /** Starts from the state on the disk, then applies the later entries of the log. */
  async reopen(): Promise<number> {
    this.machine = this.#machine()
    const state = await this.machine.open()
    const applied = state?.position.index ?? 0
    const rest = this.log.slice(applied)
    if (rest.length > 0) await this.machine.apply(rest, () => MEMBERS)
    return applied
  }
}
