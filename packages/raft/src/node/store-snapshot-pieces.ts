// Driver: stores the pieces of a snapshot that the leader sends. The present state stays until all pieces are
// complete, checked and durable, and is then replaced in one step. An error before that step changes nothing.
//
// The core acknowledges each piece before the piece is written. On a slow disk the pieces would fill the
// memory. So while `full` is true, the owner holds the next piece back until `room` is called (L18).

import type { LogPosition, Membership } from '../core/types.js'
import type { AppliedState, SnapshotWriter, StateMachine } from './state-machine-interface.js'

/** In bytes, how much received data may wait for the disk. At this limit, `full` becomes true. */
const MOST_WAITING = 4 * 1024 * 1024

interface StagedPiece {
  readonly position: LogPosition
  readonly membership: Membership
  readonly offset: number
  readonly chunk: Uint8Array
  readonly done: boolean
}

interface SnapshotInPorts {
  readonly machine: StateMachine
  /** Stops applying entries. `then` is called once no call of the state machine is under way. */
  pause(then: () => void): void
  installed(state: AppliedState): void
  /** Called when the snapshot could not be stored or installed. The state is unchanged. */
  failed(error: unknown): void
  room(): void
}

interface Receiving {
  readonly state: AppliedState
  readonly writer: Promise<SnapshotWriter>
  received: number
}

export class SnapshotIn {
  readonly #ports: SnapshotInPorts
  #receiving: Receiving | undefined
  #waiting = 0
  /**
   * Resolves when all pieces that were received so far are written. Each piece is written after the piece
   * before it.
   */
  #tail: Promise<void> = Promise.resolve()

  constructor(ports: SnapshotInPorts) {
    this.#ports = ports
  }

  get receiving(): boolean {
    return this.#receiving !== undefined
  }

  get full(): boolean {
    return this.#waiting >= MOST_WAITING
  }

  stage(piece: StagedPiece): void {
    if (piece.offset === 0) this.#begin({ position: piece.position, membership: piece.membership })
    const receiving = this.#receiving
    if (receiving === undefined || receiving.received !== piece.offset) return
    receiving.received += piece.chunk.length
    this.#waiting += piece.chunk.length
    this.#tail = this.#tail
      .then(() => this.#write(receiving, piece))
      .catch((error: unknown) => this.#fail(receiving, error))
      .then(() => this.#written(piece.chunk.length))
  }

  async #write(receiving: Receiving, piece: StagedPiece): Promise<void> {
    if (this.#receiving !== receiving) return
    const writer = await receiving.writer
    await writer.write(piece.chunk)
    if (piece.done) await this.#install(receiving, writer)
  }

  #written(bytes: number): void {
    const wasFull = this.full
    this.#waiting -= bytes
    if (wasFull && !this.full) this.#ports.room()
  }

  #begin(state: AppliedState): void {
    this.abort()
    const writer = this.#tail.then(() => this.#ports.machine.receive(state))
    writer.catch(() => {})
    this.#receiving = { state, writer, received: 0 }
  }

  async #install(receiving: Receiving, writer: SnapshotWriter): Promise<void> {
    await new Promise<void>((resolve) => this.#ports.pause(resolve))
    // `abort` may have been called during the wait. Then this snapshot must not be installed.
    if (this.#receiving !== receiving) return
    await writer.install()
    this.#receiving = undefined
    this.#ports.installed(receiving.state)
  }

  #fail(receiving: Receiving, error: unknown): void {
    if (this.#receiving !== receiving) return
    this.abort()
    this.#ports.failed(error)
  }

  abort(): void {
    const receiving = this.#receiving
    this.#receiving = undefined
    if (receiving === undefined) return
    this.#tail = this.#tail.then(async () => (await receiving.writer).abort()).catch(() => {})
  }

  idle(): Promise<void> {
    return this.#tail
  }
}
