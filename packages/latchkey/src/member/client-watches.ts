// Driver: the watches of one client connection.

import type { KvStore, Watch, WatchSink } from '@latchkey/kv'
import { errorAnswer, LatchkeyError, type LinkReply, type LinkRequest } from '@latchkey/protocol'
import type { RaftNode } from '@latchkey/raft'
import { refusalOfWatch } from './required-rights.js'
import type { Identity } from './identity-and-rights.js'

const MOST_WATCHES = 1_000

type Opening = Extract<LinkRequest, { kind: 'watch' }>

interface Ports {
  readonly node: RaftNode
  readonly kv: KvStore
  readonly identity: Identity
}

export class ClientWatches {
  readonly #ports: Ports
  readonly #tell: (reply: LinkReply) => void
  /** The watches that have begun, by the id that the client gave to each watch. */
  readonly #open = new Map<number, Watch>()
  /**
   * The watches that begin as soon as the leader has confirmed its leadership, by the same ids. The value is
   * the number of events for which the client has asked meanwhile.
   */
  readonly #opening = new Map<number, number>()
  #closed = false

  constructor(ports: Ports, tell: (reply: LinkReply) => void) {
    this.#ports = ports
    this.#tell = tell
  }

  close(): void {
    this.#closed = true
    for (const watch of this.#open.values()) watch.close()
    this.#open.clear()
  }

  open(request: Opening): void {
    const { id } = request
    const refusal = refusalOfWatch(this.#ports.identity, [request.start, request.end], request.of)
    if (refusal !== undefined) return this.#over(id, refusal)
    // A new watch with the same id ends the open watch.
    this.end(id)
    if (this.#open.size + this.#opening.size >= MOST_WATCHES)
      return this.#over(id, new LatchkeyError('ERR_BUSY'))
    this.#opening.set(id, 0)
    this.#ports.node.read((outcome) => {
      if (this.#closed || !this.#opening.has(id)) return
      if (outcome.ok) this.#begin(request)
      else this.#over(id, new LatchkeyError('ERR_NO_LEADER'))
    })
  }

  #begin({ id, start, end, from, of }: Opening): void {
    try {
      const sink: WatchSink = {
        events: (events, upTo) => this.#tell({ kind: 'events', ids: [id], events, upTo }),
        over: (error) => this.#over(id, error),
      }
      const watch = this.#ports.kv.watch({ start, end }, from, sink, this.#ports.identity.name, of)
      this.#open.set(id, watch)
      watch.more(this.#opening.get(id) ?? 0)
      this.#opening.delete(id)
      // This message without events names the revision after which the watch begins.
      if (from === 0 && of === undefined)
        this.#tell({ kind: 'events', ids: [id], events: [], upTo: this.#ports.kv.revision })
    } catch (error) {
      this.#over(id, error instanceof LatchkeyError ? error : new LatchkeyError('ERR_BUSY', String(error)))
    }
  }

  more(id: number, events: number): void {
    const waiting = this.#opening.get(id)
    if (waiting === undefined) this.#open.get(id)?.more(events)
    else this.#opening.set(id, waiting + events)
  }

  #over(id: number, error: LatchkeyError): void {
    this.#open.delete(id)
    this.#opening.delete(id)
    this.#tell({ kind: 'watchOver', id, answer: errorAnswer(error.code, error.message, error) })
  }

  end(id: number): void {
    this.#open.get(id)?.close()
    this.#open.delete(id)
    this.#opening.delete(id)
  }
}
