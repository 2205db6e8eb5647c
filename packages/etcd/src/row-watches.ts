// Driver: owns the stream on which all waiters of a client watch the rows of the waiters before them.
//
// Law: each end of a watch wakes its waiter. The causes of an end are: the row was deleted, the revision was
// compacted, or the stream broke (EN7). Without this law: the row before the waiter is gone, and the waiter
// sleeps until its next poll.
//
// This file does not use the watchers of etcd3, for two reasons. First, these watchers assume that a new
// watch has delivered every event up to the revision of its creation. So an interruption can lose an event.
// Second, an answer about a watch that was just cancelled throws an error that no caller can catch, and that
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
   * Watches a row that was read at `revision`, and calls `wake` once when the watch ends. The returned
   * function ends the watch without a call of `wake`.
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

  /** An open stream without watches would keep the process running. */
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
