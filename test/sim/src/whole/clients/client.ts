// Driver: the processes of clients, and their records of calls. The stores are the production code.

import type { Random } from '@latchkey/base'
import type { ClientStore } from '@latchkey/client'
import type { HostProcess } from '@latchkey/raft/memory'
import type { CallRecords } from './call-records.js'

/** One store in one process. All its work ends with the process. */
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

  /** Whether the client is inside a removed member and knows this. */
  get isStranded(): boolean {
    return this.#reachability.stranded()
  }

  get isUntold(): boolean {
    return this.#reachability.untold()
  }

  /** Whether some member that the client knows can serve it. */
  get findsMembers(): boolean {
    return this.#reachability.found(this.store.engine.cluster?.members.map(([, url]) => url) ?? [])
  }

  /** Waits for this time by the local clock, in ms. If the process dies, the promise never resolves. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.life.clock.after(ms, resolve))
  }

  /** Waits a while. Resolves to false if the client must begin nothing new. */
  async goesOn(): Promise<boolean> {
    await this.sleep(1 + this.random.float() * this.records.options.think)
    return !this.records.stopping
  }
}

/** Which members a client can reach, as an observer of everything knows it. */
export interface Reachability {
  stranded(): boolean
  /** Whether no member serves the client and the client cannot find this out. */
  untold(): boolean
  /** Whether a member serves the client at one of its given addresses, or at an address that it learned. */
  found(told: readonly string[]): boolean
}
