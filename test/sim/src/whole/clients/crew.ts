// Driver: the clients' processes, and what they remember of what they asked. The stores inside are
// production's.

import type { Random } from '@latchkey/base'
import type { ClientStore } from '@latchkey/client'
import type { HostProcess } from '@latchkey/raft/memory'
import type { Desk } from './desk.js'

/** One store in one process; everything it began ends with that process. */
export class Client {
  readonly name: string
  readonly life: HostProcess
  readonly store: ClientStore<'string'>
  readonly random: Random
  readonly desk: Desk
  readonly #way: Way

  constructor(
    name: string,
    life: HostProcess,
    store: ClientStore<'string'>,
    random: Random,
    desk: Desk,
    way: Way,
  ) {
    this.name = name
    this.life = life
    this.store = store
    this.random = random
    this.desk = desk
    this.#way = way
  }

  /** It lives in a member that was removed, and was told so. */
  get isStranded(): boolean {
    return this.#way.stranded()
  }

  get isUntold(): boolean {
    return this.#way.untold()
  }

  /** Some member that it knows of can serve it. */
  get findsMembers(): boolean {
    return this.#way.found(this.store.engine.cluster?.members.map(([, url]) => url) ?? [])
  }

  /** Local milliseconds; never ends when the process dies. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.life.clock.after(ms, resolve))
  }

  /** Thinks a while; false when nothing new is to be begun any more. */
  async goesOn(): Promise<boolean> {
    await this.sleep(1 + this.random.float() * this.desk.options.think)
    return !this.desk.stopping
  }
}

/** How far a client gets, as those see who see everything. */
export interface Way {
  stranded(): boolean
  /** Nobody serves it, and it has no way to know. */
  untold(): boolean
  /** Whether somebody serves it at the addresses it was given, or at those it was told. */
  found(told: readonly string[]): boolean
}
