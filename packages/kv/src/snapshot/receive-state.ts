// Driver: receives a state from another member. The rows are written into a separate store, which nobody
// reads before `install`.

import { LatchkeyError } from '@latchkey/protocol'
import type { AppliedState, SnapshotWriter } from '@latchkey/raft/node'
import { META_KEY } from '../keyspaces.js'
import type { RowBuilder } from '../storage/row-store-interface.js'
import { StateStream } from './received-state-check.js'
import { damagedStream } from './stream-format.js'

type Adopt = (builder: RowBuilder) => Promise<void>

export class StreamedState implements SnapshotWriter {
  readonly #expected: AppliedState
  readonly #builder: RowBuilder
  readonly #adopt: Adopt
  readonly #stream = new StateStream()
  /** The error for further pieces, after the state was installed or dropped. */
  #over: Error | undefined

  constructor(expected: AppliedState, builder: RowBuilder, adopt: Adopt) {
    this.#expected = expected
    this.#builder = builder
    this.#adopt = adopt
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#check()
    await this.#orAbort(async () => {
      const rows = this.#stream.push(chunk)
      if (rows.length > 0) await this.#builder.write(rows)
    })
  }

  async install(): Promise<void> {
    this.#check()
    await this.#orAbort(async () => {
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

  /** If the step fails, the new store is removed. */
  async #orAbort(step: () => Promise<void>): Promise<void> {
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
