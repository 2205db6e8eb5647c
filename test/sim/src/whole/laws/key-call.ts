// Types: a call on a key in the history of a run.

export type KeyCallKind = 'get' | 'put' | 'putIfAbsent' | 'getAndPut' | 'cas' | 'merge' | 'delete'

export interface KeyCall {
  readonly client: string
  readonly kind: KeyCallKind
  readonly word: string
  readonly expect: string | undefined
  readonly call: number
  /** The time of the answer. Infinity if the outcome is unknown or the answer has not arrived yet. */
  end: number
  result: unknown
  /** The revision of an acknowledged write. Writes take effect in the order of their revisions. */
  revision: number
  /** True if the answer proves that the call changed nothing. */
  refused: boolean
}
