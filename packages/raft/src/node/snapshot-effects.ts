// Driver: carries out the core's effects about snapshots: reads pieces to send, stores received pieces, and
// reports the results to the core.

import type { Logger } from '@latchkey/base'
import type { Effect, MemberId, Message, Raft } from '../core/index.js'
import type { AppliedState, StateMachine } from './state-machine-interface.js'
import { SnapshotIn } from './store-snapshot-pieces.js'
import { SnapshotOut } from './read-snapshot-pieces.js'

interface SnapshotsPorts {
  readonly id: MemberId
  readonly machine: StateMachine
  readonly logger: Logger
  readonly pieceBytes: number
  readonly sending: () => void
  readonly step: (event: (raft: Raft, now: number) => readonly Effect[]) => void
  readonly receive: (message: Message, incarnation: string | undefined) => void
  /** Stops applying entries. `then` is called once no call of the state machine is under way. */
  readonly pause: (then: () => void) => void
  readonly resume: () => void
  readonly installed: (state: AppliedState) => void
}

export class Snapshots {
  readonly #ports: SnapshotsPorts
  readonly #out: SnapshotOut
  readonly #in: SnapshotIn
  /** The received piece that waits until the disk has caught up (L18). */
  #held: { readonly message: Message; readonly incarnation: string | undefined } | undefined

  constructor(ports: SnapshotsPorts) {
    this.#ports = ports
    this.#out = this.#makeOut()
    this.#in = this.#makeIn()
  }

  #makeOut(): SnapshotOut {
    const { machine, pieceBytes, logger, step, sending } = this.#ports
    return new SnapshotOut({
      machine,
      pieceBytes,
      started: (to, index) => {
        sending()
        logger.info('a member is too far behind for the log: a snapshot is sent', { to, index })
      },
      piece: (to, { state, offset, chunk, done }) =>
        step((raft, now) => raft.snapshotChunk({ to, ...state, offset, chunk, done }, now)),
      failed: (to, error) => {
        logger.warn('a snapshot could not be sent', { to, error: String(error) })
        step((raft, now) => raft.snapshotFailed(to, now))
      },
    })
  }

  #makeIn(): SnapshotIn {
    const { id, machine, logger, step, pause, resume, installed } = this.#ports
    return new SnapshotIn({
      machine,
      pause,
      installed,
      failed: (error) => {
        logger.warn('a snapshot could not be taken in', { error: String(error) })
        step((raft, now) => raft.snapshotFailed(id, now))
        resume()
      },
      room: () => {
        const held = this.#held
        this.#held = undefined
        if (held !== undefined) this.#ports.receive(held.message, held.incarnation)
      },
    })
  }

  /**
   * Returns true if the message is a piece of a snapshot and too many bytes of earlier pieces still wait for
   * the disk. The message is then kept, and passed to the core later.
   */
  holds(message: Message, incarnation: string | undefined): boolean {
    if (message.type !== 'snapshot' || !this.#in.full) return false
    this.#held = { message, incarnation }
    return true
  }

  oldest(): number | undefined {
    return this.#out.oldest()
  }

  read({ to, offset, position }: Extract<Effect, { type: 'readSnapshot' }>): void {
    this.#out.read(to, offset, position?.index)
  }

  end(to: MemberId): void {
    this.#out.end(to)
  }

  endAll(): void {
    this.#out.endAll()
  }

  stage(piece: Extract<Effect, { type: 'stageSnapshot' }>): void {
    this.#in.stage(piece)
  }

  /** Removes the pieces of a snapshot that the core has given up, because another member leads (S10). */
  tidy(isStaging: boolean): void {
    if (!isStaging && this.#in.receiving) this.#in.abort()
  }

  stop(): void {
    this.#held = undefined
    this.#out.endAll()
    this.#in.abort()
  }

  idle(): Promise<void> {
    return this.#in.idle()
  }
}
