// Types: the object that testCluster() returns.

import type { ConnectOptions, Store } from '@latchkey/client'
import type { As, Duration } from '@latchkey/protocol'
import type { EmbeddedStore } from '../open/index.js'

/**
 * The stores of all members by id, as properties (`stores.a`) and with the methods of a Map. After a member
 * has restarted, `stores` contains the member's new store.
 */
export type TestStores<Id extends string, S extends As = 'bytes'> = ReadonlyMap<Id, EmbeddedStore<S>> &
  Readonly<Record<Id, EmbeddedStore<S>>>

/** The options of `connect` without those that a test cluster ignores. */
export type TestConnectOptions<S extends As = 'bytes'> = Omit<ConnectOptions<S>, 'token' | 'tls' | 'cluster'>

/** `S` is the option `as` of the members. */
export interface TestCluster<Id extends string = string, S extends As = 'bytes'> extends AsyncDisposable {
  readonly ids: readonly Id[]
  readonly stores: TestStores<Id, S>
  /** Makes a remote store on its own simulated machine. The cluster closes this store at its end. */
  connect<Remote extends As = 'bytes'>(options?: TestConnectOptions<Remote>): Promise<Store<Remote>>
  /**
   * Resolves to the id of the leader that reaches a majority. The call waits until such a leader exists. With
   * a manual clock, time advances until the election is over. The call rejects with ERR_NO_LEADER after 30 s.
   * With a manual clock, the call rejects immediately if no member reaches a majority. The error's `missing`
   * names the members that do not run.
   */
  leader(): Promise<Id>
  /**
   * Ends the process of the member immediately, as in a crash. The member's disk loses data that was not
   * synced. Calls of the member's store end with ERR_CLOSED. The other members elect another leader within
   * about 10 ms. With a manual clock, time advances until this election is over.
   */
  kill(id: Id): Promise<void>
  /**
   * Starts a killed or closed member again, with its disk. `stores` then contains the member's new store. If
   * a leader reaches the member, the call resolves when the member can serve. Without such a leader, the call
   * resolves immediately. With a manual clock, time advances until the member can serve.
   */
  start(id: Id): Promise<void>
  /**
   * Pauses the process of the member, as SIGSTOP does. Calls of the member's store wait until the member is
   * resumed.
   */
  pause(id: Id): Promise<void>
  /** Resumes a paused process, as SIGCONT does. */
  resume(id: Id): Promise<void>
  /**
   * Cuts the link between two members. With one argument, the call cuts this member off from all other
   * members and from all clients.
   */
  cut(a: Id, b?: Id): Promise<void>
  /** Connects again all members and clients that `cut` has separated. */
  heal(): Promise<void>
  /**
   * Advances the time of all members and stores. Leases end, members hold elections and stores renew their
   * holds, as in real time. The call needs clock: 'manual'.
   */
  advance(duration: Duration): Promise<void>
  /**
   * Ends all members and remote stores as in a crash, without a transfer of leadership. A second call does
   * nothing.
   */
  close(): Promise<void>
}
