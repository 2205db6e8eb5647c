// Driver: owns the snapshot that is being received. Pieces are written in order, apart from the present
// state. The state is replaced once, when all pieces are complete, checked and durable. Any fault before that
// leaves the state unchanged.
//
// The core acknowledges a piece when it is passed on, not when it is written, and the sender sends one piece
// at a time. So if the disk is slow, the sender must be stopped, or the pieces would fill the memory. While
// this object is `full`, the owner keeps the next piece back until `room` is called (L18).

import type { LogPosition, Membership } from '../core/types.js'
import type { AppliedState, SnapshotWriter, StateMachine } from './state-machine.js'

/** In bytes, how many received pieces may wait for the disk. */
const MOST_WAITING = 4 * 1024 * 1024

export interface StagedPiece {
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
  /** Called when the state machine has this state. */
  installed(state: AppliedState): void
  /** Called when the snapshot failed. The state is unchanged, and applying continues. */
  failed(error: unknown): void
  /** Called when `full` is false again. */
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
  /** Pieces are written one after the other. */
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
    // While the last call of the state machine was under way, the member may have stopped and given the
    // snapshot up.
    if (this.#receiving !== receiving) return
    await writer.install()
    this.#receiving = undefined
    this.#ports.installed(receiving.state)
  }

  /** Reports the error, unless the snapshot was given up already. */
  #fail(receiving: Receiving, error: unknown): void {
    if (this.#receiving !== receiving) return
    this.abort()
    this.#ports.failed(error)
  }

  /** Drops all pieces that were received so far. */
  abort(): void {
    const receiving = this.#receiving
    this.#receiving = undefined
    if (receiving === undefined) return
    this.#tail = this.#tail.then(async () => (await receiving.writer).abort()).catch(() => {})
  }

  /** Resolves when nothing is being written. */
  idle(): Promise<void> {
    return this.#tail
  }
}
