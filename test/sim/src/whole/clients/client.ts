// Driver: a client: a process with a store, and the records of its calls. The store is the production code.

import type { Random } from '@latchkey/base'
import type { ClientStore } from '@latchkey/client'
import type { HostProcess } from '@latchkey/raft/memory'
import type { CallRecords } from './call-records.js'

/** All work of the client ends with its process. */
export class Client {
  readonly name: string
  readonly life: HostProcess
  readonly store: ClientStore<'string'>
  readonly random: Random
  readonly records: CallRecords
  readonly #reachability: Reachability

  constructor(
    name: string,
    life: HostProcess,
    store: ClientStore<'string'>,
    random: Random,
    records: CallRecords,
    reachability: Reachability,
  ) {
    this.name = name
    this.life = life
    this.store = store
    this.random = random
    this.records = records
    this.#reachability = reachability
  }

  /** True if the client is inside a removed member that knows of its removal. */
  get isStranded(): boolean {
    return this.#reachability.stranded()
  }

  get isUntold(): boolean {
    return this.#reachability.untold()
  }

  /** True if a member that the client knows can serve the client. */
  get findsMembers(): boolean {
    return this.#reachability.found(this.store.engine.cluster?.members.map(([, url]) => url) ?? [])
  }

  /** In ms of the local clock. If the process dies, the promise never resolves. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.life.clock.after(ms, resolve))
  }

  /** Waits for a random time. Resolves to false if the client must begin nothing new. */
  async goesOn(): Promise<boolean> {
    await this.sleep(1 + this.random.float() * this.records.options.think)
    return !this.records.stopping
  }
}

/** What an observer of the whole world knows about the members that a client reaches. */
export interface Reachability {
  stranded(): boolean
  /** True if no member serves the client and the client cannot find this out. */
  untold(): boolean
  /** True if a member serves the client at one of its given addresses, or at an address of `told`. */
  found(told: readonly string[]): boolean
}
