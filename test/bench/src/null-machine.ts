// Driver: a state machine that only counts, so that consensus is measured and nothing else. Run as a process
// of its own.

import type {
  Applied,
  AppliedState,
  Entry,
  LogPosition,
  Membership,
  SnapshotReader,
  SnapshotWriter,
  StateMachine,
} from '@latchkey/raft'
import { splitRecords } from '@latchkey/raft'

const NOWHERE: LogPosition = { index: 0, term: 0, time: 0 }
const ANSWER = { bytes: new Uint8Array(0), fromTable: false }

export class NullMachine implements StateMachine {
  count = 0
  #state: AppliedState | undefined

  async open(): Promise<undefined> {}

  apply(entries: readonly Entry[], membershipAt: (index: number) => Membership): Applied[] {
    return entries.map((entry) => {
      this.#state = { position: entry, membership: membershipAt(entry.index) }
      if (entry.kind !== 'commands') return { index: entry.index, answers: undefined }
      const answers = splitRecords(entry.data).map(() => ANSWER)
      this.count += answers.length
      return { index: entry.index, answers }
    })
  }

  /** Its state is one number: whatever is applied counts as kept, for as long as the process lives. */
  durable(): LogPosition {
    return this.#state?.position ?? NOWHERE
  }

  async flush(): Promise<void> {}
  nextDeadline(): undefined {}

  async snapshot(): Promise<SnapshotReader> {
    const state = this.#state ?? {
      position: NOWHERE,
      membership: { voters: [], outgoing: [], learners: [], learnersNext: [], peers: {} },
    }
    let left: Uint8Array | undefined = Buffer.from(String(this.count))
    return {
      state,
      read: async () => {
        const piece = left
        left = undefined
        return piece
      },
      close: () => {},
    }
  }

  async receive(state: AppliedState): Promise<SnapshotWriter> {
    let text = ''
    return {
      write: async (chunk) => {
        text += Buffer.from(chunk).toString()
      },
      install: async () => {
        this.count = Number(text)
        this.#state = state
      },
      abort: async () => {},
    }
  }

  async close(): Promise<void> {}
}
