// Driver: owns the one stream on which the waiters of a client watch the rows before them.
//
// Law (EN7): the end of a watch always wakes its waiter, whatever has ended the watch: the row's deletion, a
// revision that was compacted, or a stream that broke. Without this law: the row before is gone, and the
// waiter sleeps until its next poll.
//
// The stream is not the one of etcd3's own watchers, for two reasons. They assume that all events up to
// the revision at which a watch was made were received, so that a network cut can lose an event. And an
// answer about a watch that has just been cancelled throws at a place where nobody can catch it, which
// ends the process.

import type { EtcdClient, WatchAnswer, WatchConnection } from './etcd-types.js'

interface Watch {
  readonly row: Buffer
  /** The first revision whose events the watch must report. */
  readonly from: string
  readonly wake: () => void
}

export class RowWatches {
  readonly #client: EtcdClient
  readonly #watches = new Map<string, Watch>()
  #connection: Promise<WatchConnection> | undefined
  #lastId = 0

  constructor(client: EtcdClient) {
    this.#client = client
  }

  /**
   * `revision` is the one at which the row was seen. `wake` is called once, unless the returned function is
   * called before.
   */
  begin(row: Buffer, revision: string, wake: () => void): () => void {
    const id = String(++this.#lastId)
    this.#watches.set(id, { row, from: String(BigInt(revision) + 1n), wake })
    this.#connection ??= this.#connect()
    const asked = this.#connection
    asked.then(
      (connection) => {
        const watch = this.#watches.get(id)
        if (watch !== undefined) connection.write(creation(id, watch))
      },
      () => this.#lost(asked),
    )
    return () => this.#forget(id)
  }

  close(): void {
    this.#watches.clear()
    this.#disconnect()
  }

  #connect(): Promise<WatchConnection> {
    const opened: Promise<WatchConnection> = this.#client.watchClient.watch().then((connection) => {
      const lost = () => this.#lost(opened)
      connection.on('error', lost)
      connection.on('end', lost)
      connection.on('data', (answer) => this.#answered(answer))
      return connection
    })
    return opened
  }

  #answered({ watch_id: id, canceled, events }: WatchAnswer): void {
    if (!canceled && events.length === 0) return
    const watch = this.#watches.get(id)
    if (watch === undefined) return
    this.#forget(id)
    watch.wake()
  }

  #forget(id: string): void {
    if (!this.#watches.delete(id)) return
    if (this.#watches.size === 0) return this.#disconnect()
    this.#connection?.then(
      (connection) => connection.write({ cancel_request: { watch_id: id } }),
      () => {},
    )
  }

  #lost(connection: Promise<WatchConnection>): void {
    if (this.#connection !== connection) return
    this.#connection = undefined
    const woken = [...this.#watches.values()]
    this.#watches.clear()
    for (const { wake } of woken) wake()
  }

  /** Ends a stream that no waiter needs, so that it does not keep the process alive. */
  #disconnect(): void {
    const connection = this.#connection
    this.#connection = undefined
    connection?.then(
      (one) => one.cancel(),
      () => {},
    )
  }
}

const creation = (id: string, { row, from }: Watch): object => ({
  create_request: { watch_id: id, key: row, start_revision: from, filters: ['Noput'] },
})
