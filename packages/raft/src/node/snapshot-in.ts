// Driver: owns the snapshot that is being received. Pieces are written aside in order; the swap happens once, when all is
// complete, checked and durable; any fault before that leaves the state as it was.

import type { LogPosition, Membership } from '../core/types.js'
import type { AppliedState, SnapshotWriter, StateMachine } from './machine.js'

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
}

export class SnapshotIn {
  readonly #ports: SnapshotInPorts
  #receiving:
    | { readonly state: AppliedState; readonly writer: Promise<SnapshotWriter>; received: number }
    | undefined
  /** Pieces are written one after the other. */
  #tail: Promise<void> = Promise.resolve()

  constructor(ports: SnapshotInPorts) {
    this.#ports = ports
  }

  stage(piece: StagedPiece): void {
    if (piece.offset === 0) this.#begin({ position: piece.position, membership: piece.membership })
    const receiving = this.#receiving
    if (receiving === undefined || receiving.received !== piece.offset) return
    receiving.received += piece.chunk.length
    const step = this.#tail.then(async () => {
      if (this.#receiving !== receiving) return
      const writer = await receiving.writer
      await writer.write(piece.chunk)
      if (piece.done) await this.#install(receiving.state, writer)
    })
    this.#tail = step.catch((error: unknown) => this.#fail(error))
  }

  #begin(state: AppliedState): void {
    this.abort()
    const writer = this.#tail.then(() => this.#ports.machine.receive(state))
    writer.catch(() => {})
    this.#receiving = { state, writer, received: 0 }
  }

  async #install(state: AppliedState, writer: SnapshotWriter): Promise<void> {
    await new Promise<void>((resolve) => this.#ports.pause(resolve))
    await writer.install()
    this.#receiving = undefined
    this.#ports.installed(state)
  }

  #fail(error: unknown): void {
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
