// Test: a state machine that adds numbers. Its durable state is the state at the last flush. A crash loses
// all later changes.

import { text, utf8 } from '@latchkey/base'
import type { Entry, LogPosition, Membership } from '../../core/types.js'
import type {
  Applied,
  AppliedState,
  SnapshotReader,
  SnapshotWriter,
  StateMachine,
} from '../state-machine-interface.js'
import { splitRecords } from '../entry-commands.js'

/** The state at the last flush, which survives a restart. */
interface CounterDisk {
  state: AppliedState | undefined
  words: readonly string[]
}

export class Counter implements StateMachine {
  readonly disk: CounterDisk
  words: string[] = []
  #state: AppliedState | undefined
  /** If false, nothing is durable before a flush, so the log must keep all entries until then. */
  flushAlways = true

  constructor(disk: CounterDisk = { state: undefined, words: [] }) {
    this.disk = disk
  }

  async open(): Promise<AppliedState | undefined> {
    this.words = [...this.disk.words]
    this.#state = this.disk.state
    return this.#state
  }

  apply(entries: readonly Entry[], membershipAt: (index: number) => Membership): Applied[] {
    const results = entries.map((entry) => {
      this.#state = { position: entry, membership: membershipAt(entry.index) }
      if (entry.kind !== 'commands') return { index: entry.index, answers: undefined }
      const answers = splitRecords(entry.data).map((record) => {
        this.words.push(text(record))
        return { bytes: utf8(String(this.words.length)), fromTable: false }
      })
      return { index: entry.index, answers }
    })
    if (this.flushAlways) this.#flush()
    return results
  }

  #flush(): void {
    this.disk.state = this.#state
    this.disk.words = [...this.words]
  }

  durable(): LogPosition {
    return this.disk.state?.position ?? { index: 0, term: 0, time: 0 }
  }

  async flush(): Promise<void> {
    this.#flush()
  }

  nextDeadline(): undefined {
    return undefined
  }

  async snapshot(): Promise<SnapshotReader> {
    const state = this.#state as AppliedState
    let rest = utf8(JSON.stringify(this.words))
    return {
      state,
      read: async (max) => {
        const piece = rest.subarray(0, max)
        rest = rest.subarray(max)
        return piece.length === 0 ? undefined : piece
      },
      close: () => {},
    }
  }

  async receive(state: AppliedState): Promise<SnapshotWriter> {
    const pieces: Uint8Array[] = []
    return {
      write: async (chunk) => void pieces.push(chunk.slice()),
      install: async () => {
        this.words = JSON.parse(text(Buffer.concat(pieces))) as string[]
        this.#state = state
        this.#flush()
      },
      abort: async () => {},
    }
  }

  async close(): Promise<void> {
    this.#flush()
  }
}
