// Types: one call on keys, as the judge remembers it.

export type KeyCallKind = 'get' | 'put' | 'putIfAbsent' | 'getAndPut' | 'cas' | 'merge' | 'delete'

export interface KeyCall {
  readonly client: string
  readonly kind: KeyCallKind
  readonly word: string
  readonly expect: string | undefined
  readonly call: number
  /** Infinity: unknown, or not told yet. */
  end: number
  result: unknown
  /** Of a write that was acknowledged with one: writes take effect in the order of their revisions. */
  revision: number
  /** A proof that it changed nothing. */
  refused: boolean
}
