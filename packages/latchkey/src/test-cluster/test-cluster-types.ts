// Types: the cluster that a test holds.

import type { ConnectOptions, Store } from '@latchkey/client'
import type { As, Duration } from '@latchkey/protocol'
import type { EmbeddedStore } from '../open/index.js'

/** The stores of all members, by id: `stores.a`, and all that a Map has. Of a member that was started again, the new one. */
export type TestStores<Id extends string, S extends As = 'bytes'> = ReadonlyMap<Id, EmbeddedStore<S>> &
  Readonly<Record<Id, EmbeddedStore<S>>>

/** Tokens and certificates have no meaning in a test cluster. */
export type TestConnectOptions<S extends As = 'bytes'> = Omit<ConnectOptions<S>, 'token' | 'tls' | 'cluster'>

/** `S`: the `as` that its members were opened with. */
export interface TestCluster<Id extends string = string, S extends As = 'bytes'> extends AsyncDisposable {
  /** The members' ids. */
  readonly ids: readonly Id[]
  readonly stores: TestStores<Id, S>
  /** A remote store, on a machine of its own. It is closed with the cluster. */
  connect<Remote extends As = 'bytes'>(options?: TestConnectOptions<Remote>): Promise<Store<Remote>>
  /**
   * Who leads, and reaches a majority: an old leader that is cut off or stands still does not count. Waits until there is one; time
   * that stands is moved as far as the election needs. ERR_NO_LEADER, with `missing`, after 30 s; where time stands, at once when
   * no majority is left.
   */
  leader(): Promise<Id>
  /**
   * The process of that member ends at once, as in a crash: what its disk had not synced is lost. Its store ends with ERR_CLOSED. The
   * others see that it is gone, and elect another leader in about 10 ms; time that stands is moved so far.
   */
  kill(id: Id): Promise<void>
  /**
   * A killed member, or one whose store was closed, is started again on its disk. `stores` has its new store. Where somebody leads it
   * resolves when the member knows who; time that stands is moved so far.
   */
  start(id: Id): Promise<void>
  /** The process of that member stands still, as after SIGSTOP. Calls of its own store wait until it goes on. */
  pause(id: Id): Promise<void>
  /** It goes on, as after SIGCONT. */
  resume(id: Id): Promise<void>
  /** Nothing passes between the two members; of one alone, nothing between it and all others, clients included. */
  cut(a: Id, b?: Id): Promise<void>
  /** Nothing is cut any more. */
  heal(): Promise<void>
  /** Lets that much time pass for all members and stores: leases run out, elections happen, watchdogs renew. With clock: 'manual' only. */
  advance(duration: Duration): Promise<void>
  /** All members and remote stores end, as in a crash: nothing has to be handed over. Idempotent. */
  close(): Promise<void>
}
