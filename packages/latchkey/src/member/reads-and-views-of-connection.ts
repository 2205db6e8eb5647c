// Driver: the reads of one client connection, and the views that the client has opened. A view is a snapshot
// of the state, which a client reads page by page.

import type { KvStore } from '@latchkey/kv'
import {
  CAPS,
  LatchkeyError,
  type LinkReply,
  okAnswer,
  READ,
  type Read,
  type TicketResult,
} from '@latchkey/protocol'
import type { RaftNode } from '@latchkey/raft'
import { ticketWithoutContext } from './remove-hold-contexts-from-answers.js'
import type { ReadTurns } from './read-answer-bytes-per-turn.js'
import { failedReply, refusedReply, tooMany, viewGone } from './request-errors.js'
import { refusalOfRead } from './required-rights.js'
import type { Identity } from './identity-and-rights.js'

/** Reads whose answers have no other limit than MOST_ANSWER. */
const MANY: ReadonlySet<Read[0]> = new Set([READ.multiGet, READ.lockQuery, READ.parties])
/** In bytes. An answer must fit into one message. A read with a longer answer fails. */
const MOST_ANSWER = CAPS.maxPayload - CAPS.frameBytes
/**
 * How many reads of one connection may wait for the leader's confirmation. A further read fails with
 * ERR_BUSY.
 */
const MOST_READS = 20_000

interface Ports {
  readonly node: RaftNode
  readonly kv: KvStore
  readonly turns: ReadTurns
  readonly identity: Identity
}

export class ClientReads {
  readonly #ports: Ports
  readonly #tell: (reply: LinkReply) => void
  /** The open views of this connection. A connection cannot use the views of another connection. */
  readonly #views = new Set<number>()
  #reading = 0
  #closed = false

  constructor(ports: Ports, tell: (reply: LinkReply) => void) {
    this.#ports = ports
    this.#tell = tell
  }

  close(): void {
    this.#closed = true
    this.#ports.kv.closeViews(this.#views)
    this.#ports.turns.left(this)
  }

  /**
   * A stale read is answered from this member's own state. For any other read, the leader first confirms that
   * it still leads.
   */
  read(id: number, stale: boolean, read: Read): void {
    const refusal = refusalOfRead(this.#ports.identity, read)
    if (refusal !== undefined) return this.#tell(refusedReply(id, refusal))
    const view = viewOf(read)
    if (view !== 0 && !this.#views.has(view)) {
      if (read[0] !== READ.closeView) return this.#tell(failedReply(id, viewGone()))
      return this.#served(id, read, undefined, 0)
    }
    // The leader confirmed that it leads when the view was opened, and the content of a view never changes.
    // So a read of a view needs no further confirmation.
    if (stale || view !== 0) return this.#serve(id, read, 0)
    if (this.#reading >= MOST_READS) return this.#tell(refusedReply(id, new LatchkeyError('ERR_BUSY')))
    this.#reading++
    this.#ports.node.read((outcome) => {
      this.#reading--
      if (outcome.ok) this.#serve(id, read, outcome.time)
      else this.#tell(refusedReply(id, new LatchkeyError('ERR_NO_LEADER')))
    })
    this.#ports.kv.expect(read)
  }

  /**
   * If the reads of this turn of the event loop have used up their bytes, this read waits for a later turn.
   */
  #serve(id: number, read: Read, time: number): void {
    if (!this.#closed) this.#ports.turns.run(this, () => this.#serveNow(id, read, time))
  }

  /**
   * Returns about how many bytes the answer has, for the limit of each turn of the event loop. LevelDB reads
   * a page of rows outside the event loop, so a page counts as 0.
   */
  #serveNow(id: number, read: Read, time: number): number {
    if (this.#closed) return 0
    try {
      const result = this.#ports.kv.read(read, time === 0 ? undefined : time, this.#ports.identity.name)
      if (result instanceof Promise)
        result
          .then((later) => this.#served(id, read, later, time))
          .catch((error: unknown) => this.#tell(failedReply(id, error)))
      else this.#served(id, read, result, time)
      return result instanceof Promise ? 0 : weigh(result)
    } catch (error) {
      this.#tell(failedReply(id, error))
      return 0
    }
  }

  #served(id: number, read: Read, result: unknown, time: number): void {
    if (MANY.has(read[0]) && weigh(result) > MOST_ANSWER) return this.#tell(failedReply(id, tooMany()))
    if (read[0] === READ.page || read[0] === READ.backup)
      this.#keepView(read[1], (result as readonly [number])[0])
    if (read[0] === READ.closeView) this.#views.delete(read[1])
    const shown =
      read[0] === READ.ticket && !this.#ports.identity.rights.includes('read')
        ? ticketWithoutContext(result as TicketResult)
        : result
    this.#tell({ kind: 'answer', id, time, never: false, answer: okAnswer(shown) })
  }

  #keepView(asked: number, open: number): void {
    if (asked !== open) this.#views.delete(asked)
    if (open !== 0) this.#views.add(open)
    if (this.#closed) this.#ports.kv.closeViews(this.#views)
  }
}

const viewOf = (read: Read): number =>
  read[0] === READ.page || read[0] === READ.closeView || read[0] === READ.backup ? read[1] : 0

function weigh(value: unknown): number {
  if (value instanceof Uint8Array || typeof value === 'string') return value.length + 5
  return Array.isArray(value) ? value.reduce((sum: number, part) => sum + weigh(part), 5) : 9
}
