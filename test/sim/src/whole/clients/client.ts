// Driver: the clients' processes, and what they remember of what they asked. The stores inside are
// production's.

import type { Random } from '@latchkey/base'
import type { ClientStore } from '@latchkey/client'
import type { HostProcess } from '@latchkey/raft/memory'
import type { CallRecords } from './call-records.js'

/** One store in one process; everything it began ends with that process. */
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

  /** It lives in a member that was removed, and was told so. */
  get isStranded(): boolean {
    return this.#reachability.stranded()
  }

  get isUntold(): boolean {
    return this.#reachability.untold()
  }

  /** Some member that it knows of can serve it. */
  get findsMembers(): boolean {
    return this.#reachability.found(this.store.engine.cluster?.members.map(([, url]) => url) ?? [])
  }

  /** Local milliseconds; never ends when the process dies. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.life.clock.after(ms, resolve))
  }

  /** Thinks a while; false when nothing new is to be begun any more. */
  async goesOn(): Promise<boolean> {
    await this.sleep(1 + this.random.float() * this.records.options.think)
    return !this.records.stopping
  }
}

/** How far a client gets, as those see who see everything. */
export interface Reachability {
  stranded(): boolean
  /** Nobody serves it, and it has no way to know. */
  untold(): boolean
  /** Whether somebody serves it at the addresses it was given, or at those it was told. */
  found(told: readonly string[]): boolean
}
