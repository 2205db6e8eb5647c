// Driver: what all clients share: what is asked for, whether it goes on, and what they saw.

import type { Ground } from '../ground/ground.js'
import { LawBroken } from '../../laws/broken.js'
import { KvHistory } from '../judge/kv-history.js'
import type { KvKind, KvOp } from '../judge/kv-op.js'
import { Sequences, type WatchStory } from '../judge/ledger.js'
import { type MirrorStory, StoreStates } from '../judge/mirrors.js'
import type { WholeOptions } from '../options.js'

export interface Fault {
  readonly code: string
  readonly outcome: string
}

/** Which refusals a call may meet at any time. Any other code is a finding. */
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

export class Desk {
  readonly ground: Ground
  readonly options: WholeOptions
  readonly history = new KvHistory()
  readonly sequences = new Sequences()
  readonly watches: WatchStory[] = []
  readonly mirrors: MirrorStory[] = []
  readonly states = new StoreStates()
  /** Workers begin nothing new. */
  stopping = false
  /** A member of another cluster stood at an address of this one: who met both is told. */
  twoClusters = false
  /** Calls under way of clients that live. */
  open = 0
  done = 0
  #words = 0

  constructor(ground: Ground, options: WholeOptions) {
    this.ground = ground
    this.options = options
  }

  word(): string {
    return `w${++this.#words}`
  }

  /** Runs a call on a key and remembers what became of it. */
  async record(
    client: string,
    key: string,
    kind: KvKind,
    args: { readonly word?: string; readonly expect?: string | undefined },
    run: () => Promise<unknown>,
  ): Promise<KvOp> {
    const op: KvOp = {
      client,
      kind,
      word: args.word ?? '',
      expect: args.expect,
      call: this.ground.instant(),
      end: Number.POSITIVE_INFINITY,
      result: undefined,
      revision: 0,
      refused: false,
    }
    this.history.add(key, op)
    try {
      const result = await run()
      op.end = this.ground.instant()
      op.result = result
      op.revision = revisionOf(result)
      this.done++
      this.ground.print.addText(`${key}${kind}${String(result)}`)
    } catch (error) {
      op.refused = this.fault(error).outcome === 'not-applied'
      this.ground.print.addText(`${key}${kind}${(error as { code?: string }).code}`)
    }
    return op
  }

  fault(error: unknown): Fault {
    if (error instanceof LawBroken) {
      this.ground.fail(error)
      return { code: 'ERR_CLOSED', outcome: 'unknown' }
    }
    const { code, outcome } = error as Partial<Fault>
    const isUsual = (one: string) => USUAL.has(one) || (this.twoClusters && one === 'ERR_WRONG_CLUSTER')
    if (code === undefined || outcome === undefined || !isUsual(code)) {
      this.ground.fail(
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
