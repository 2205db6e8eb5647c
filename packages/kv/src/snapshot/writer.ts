// Driver: owns a state that is being received: rows go into a store built aside; nothing of it is seen before `install`.

import { LatchkeyError } from '@latchkey/protocol'
import type { AppliedState, SnapshotWriter } from '@latchkey/raft/node'
import { META_KEY } from '../keyspaces.js'
import type { RowBuilder } from '../storage/row-store.js'
import { StateStream } from './check.js'
import { damagedStream } from './stream.js'

/** Takes the built store into use: commits it and swaps it in. */
export type Adopt = (builder: RowBuilder) => Promise<void>

export class StreamedState implements SnapshotWriter {
  readonly #expected: AppliedState
  readonly #builder: RowBuilder
  readonly #adopt: Adopt
  readonly #stream = new StateStream()
  /** Why it takes no more. */
  #over: Error | undefined

  constructor(expected: AppliedState, builder: RowBuilder, adopt: Adopt) {
    this.#expected = expected
    this.#builder = builder
    this.#adopt = adopt
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#check()
    await this.#orDie(async () => {
      const rows = this.#stream.push(chunk)
      if (rows.length > 0) await this.#builder.write(rows)
    })
  }

  async install(): Promise<void> {
    this.#check()
    await this.#orDie(async () => {
      const { position } = this.#stream.finish()
      const { index, term } = this.#expected.position
      if (position.index !== index || position.term !== term) {
        throw damagedStream(`it is of entry ${position.index}, announced was ${index}`)
      }
      await this.#builder.write([{ key: META_KEY, value: this.#stream.metaRow }])
    })
    this.#over = new LatchkeyError('ERR_CLOSED', 'The snapshot is installed.')
    await this.#adopt(this.#builder)
  }

  #check(): void {
    if (this.#over !== undefined) throw this.#over
  }

  /** Whatever goes wrong, nothing of what was built stays. */
  async #orDie(step: () => Promise<void>): Promise<void> {
    try {
      await step()
    } catch (error) {
      await this.abort(error instanceof Error ? error : undefined)
      throw error
    }
  }

  async abort(reason: Error = new LatchkeyError('ERR_ABORTED', 'The snapshot was given up.')): Promise<void> {
    if (this.#over !== undefined) return
    this.#over = reason
    await this.#builder.abort()
  }
}
