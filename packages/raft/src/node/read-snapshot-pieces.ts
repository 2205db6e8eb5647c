// Driver: reads the pieces of snapshots that this leader sends.
// Each receiver has its own view, which is a copy of the state at one index. The core asks for the bytes at
// an offset. After a lost acknowledgement the core asks for the same piece again.

import type { MemberId } from '../core/types.js'
import type { AppliedState, SnapshotReader, StateMachine } from './state-machine-interface.js'

interface Piece {
  readonly state: AppliedState
  readonly offset: number
  readonly chunk: Uint8Array
  readonly done: boolean
}

interface SnapshotOutPorts {
  readonly machine: StateMachine
  readonly pieceBytes: number
  started(to: MemberId, index: number): void
  piece(to: MemberId, piece: Piece): void
  failed(to: MemberId, error: unknown): void
}

interface Sending {
  readonly reader: SnapshotReader
  /** In bytes, the offset after the piece that was read last. */
  offset: number
  last: Piece | undefined
  busy: boolean
}

export class SnapshotOut {
  readonly #ports: SnapshotOutPorts
  readonly #sending = new Map<MemberId, Sending>()
  readonly #opening = new Set<MemberId>()

  constructor(ports: SnapshotOutPorts) {
    this.#ports = ports
  }

  /**
   * The lowest index of the snapshots that are being sent. Entries after this index must stay in the log,
   * because the receiver needs them next (S9).
   */
  oldest(): number | undefined {
    const indices = [...this.#sending.values()].map(({ reader }) => reader.state.position.index)
    return indices.length === 0 ? undefined : Math.min(...indices)
  }

  /**
   * Reads the piece at `offset` of the view (a copy of the state) at `index`. If no view at `index` is open,
   * the first piece of a new view is read.
   */
  read(to: MemberId, offset: number, index: number | undefined): void {
    if (this.#opening.has(to)) return
    const sending = this.#sending.get(to)
    const same = sending !== undefined && sending.reader.state.position.index === index
    if (same && sending.busy) return
    if (same && sending.last?.offset === offset) return this.#ports.piece(to, sending.last)
    if (same && sending.offset === offset) return void this.#next(to, sending)
    this.end(to)
    void this.#open(to)
  }

  async #open(to: MemberId): Promise<void> {
    this.#opening.add(to)
    try {
      const reader = await this.#ports.machine.snapshot()
      const sending: Sending = { reader, offset: 0, last: undefined, busy: false }
      if (!this.#opening.has(to)) return reader.close()
      this.#sending.set(to, sending)
      this.#opening.delete(to)
      this.#ports.started(to, reader.state.position.index)
      await this.#next(to, sending)
    } catch (error) {
      this.#opening.delete(to)
      this.#ports.failed(to, error)
    }
  }

  async #next(to: MemberId, sending: Sending): Promise<void> {
    sending.busy = true
    try {
      const chunk = await sending.reader.read(this.#ports.pieceBytes)
      if (this.#sending.get(to) !== sending) return
      sending.last = {
        state: sending.reader.state,
        offset: sending.offset,
        chunk: chunk ?? new Uint8Array(0),
        done: chunk === undefined,
      }
      sending.offset += sending.last.chunk.length
      sending.busy = false
      this.#ports.piece(to, sending.last)
    } catch (error) {
      // If this snapshot is not being sent any more, the error is ignored.
      if (this.#sending.get(to) !== sending) return
      this.end(to)
      this.#ports.failed(to, error)
    }
  }

  end(to: MemberId): void {
    this.#opening.delete(to)
    this.#sending.get(to)?.reader.close()
    this.#sending.delete(to)
  }

  endAll(): void {
    for (const to of [...this.#sending.keys(), ...this.#opening]) this.end(to)
  }
}
