// Driver: owns the snapshot that is being received. Pieces are written aside in order; the swap happens once, when all is
// complete, checked and durable; any fault before that leaves the state as it was.
//
// The core acknowledges a piece when it is staged, not when it is written, and its sender has one under way. So that a slow disk
// holds up the sender and not the memory, a piece that comes while `full` is kept waiting by the owner until `room` is told (L18).

import type { LogPosition, Membership } from '../core/types.js'
import type { AppliedState, SnapshotWriter, StateMachine } from './state-machine.js'

/** Bytes that may wait for the disk. */
const MOST_WAITING = 4 * 1024 * 1024

export interface StagedPiece {
  readonly position: LogPosition
  readonly membership: Membership
  readonly offset: number
  readonly chunk: Uint8Array
  readonly done: boolean
}

export interface SnapshotInPorts {
  readonly machine: StateMachine
  /** Nothing may be applied from here on; `then` once nothing is in flight. */
  pause(then: () => void): void
  /** The machine's state is now this one. */
  installed(state: AppliedState): void
  /** Nothing changed; apply goes on. */
  failed(error: unknown): void
  /** It is not full any more. */
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
    // Given up while the last apply was under way: the member stops.
    if (this.#receiving !== receiving) return
    await writer.install()
    this.#receiving = undefined
    this.#ports.installed(receiving.state)
  }

  /** Of one that was given up already nobody needs to know. */
  #fail(receiving: Receiving, error: unknown): void {
    if (this.#receiving !== receiving) return
    this.abort()
    this.#ports.failed(error)
  }

  /** What was received so far is dropped. */
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
