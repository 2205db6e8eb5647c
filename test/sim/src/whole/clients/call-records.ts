// Driver: the records of all clients: their calls, and what they saw.

import type { VirtualTime } from '../../world/virtual-time.js'
import { LawBroken } from '../../laws/verdict.js'
import { KeyHistory } from '../laws/key-history.js'
import type { KeyCallKind, KeyCall } from '../laws/key-call.js'
import { Sequences, type WatchHistory } from '../laws/sequences-and-watches.js'
import { type MirrorHistory, StoreStates } from '../laws/mirrors.js'
import type { WholeOptions } from '../options.js'

export interface Fault {
  readonly code: string
  readonly outcome: string
}

/** A call may get these error codes at any time. Any other code is a failure of the run. */
const USUAL = new Set([
  'ERR_NO_LEADER',
  'ERR_TIMEOUT',
  'ERR_OUTCOME_UNKNOWN',
  'ERR_BUSY',
  'ERR_CONFIG_CHANGE_IN_PROGRESS',
  'ERR_CLOSED',
  'ERR_ABORTED',
  'ERR_FENCED',
  'ERR_LOCK_LOST',
  'ERR_NOT_OWNER',
  'ERR_DEADLOCK',
])

export class CallRecords {
  readonly time: VirtualTime
  readonly options: WholeOptions
  readonly history = new KeyHistory()
  readonly sequences = new Sequences()
  readonly watches: WatchHistory[] = []
  readonly mirrors: MirrorHistory[] = []
  readonly states = new StoreStates()
  stopping = false
  /**
   * True if a member of another cluster was at an address of this cluster. A client may then get an error
   * about two clusters.
   */
  twoClusters = false
  /** How many calls of living clients have no answer yet. */
  open = 0
  done = 0
  #words = 0

  constructor(time: VirtualTime, options: WholeOptions) {
    this.time = time
    this.options = options
  }

  word(): string {
    return `w${++this.#words}`
  }

  async record(
    client: string,
    key: string,
    kind: KeyCallKind,
    args: { readonly word?: string; readonly expect?: string | undefined },
    run: () => Promise<unknown>,
  ): Promise<KeyCall> {
    const op: KeyCall = {
      client,
      kind,
      word: args.word ?? '',
      expect: args.expect,
      call: this.time.instant(),
      end: Number.POSITIVE_INFINITY,
      result: undefined,
      revision: 0,
      refused: false,
    }
    this.history.add(key, op)
    try {
      const result = await run()
      op.end = this.time.instant()
      op.result = result
      op.revision = revisionOf(result)
      this.done++
      this.time.print.addText(`${key}${kind}${String(result)}`)
    } catch (error) {
      op.refused = this.fault(error).outcome === 'not-applied'
      this.time.print.addText(`${key}${kind}${(error as { code?: string }).code}`)
    }
    return op
  }

  fault(error: unknown): Fault {
    if (error instanceof LawBroken) {
      this.time.fail(error)
      return { code: 'ERR_CLOSED', outcome: 'unknown' }
    }
    const { code, outcome } = error as Partial<Fault>
    const isUsual = (one: string) => USUAL.has(one) || (this.twoClusters && one === 'ERR_WRONG_CLUSTER')
    if (code === undefined || outcome === undefined || !isUsual(code)) {
      this.time.fail(
        new LawBroken('known refusals', `a call ended with ${String((error as Error).stack ?? error)}`),
      )
      return { code: 'ERR_CLOSED', outcome: 'unknown' }
    }
    return { code, outcome }
  }
}

function revisionOf(result: unknown): number {
  const { revision } = (typeof result === 'object' && result !== null ? result : {}) as { revision?: number }
  return revision ?? 0
}
