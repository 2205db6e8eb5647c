// Rule: how a run ends: it passes, or says how it failed.

export type Verdict = 'pass' | 'crash' | 'safety' | 'liveness'

export interface Ending {
  readonly verdict: Verdict
  /** The name of the law, of what is missing, or of the error; '' where it passed. */
  readonly law: string
  readonly message: string
}

export const PASS: Ending = { verdict: 'pass', law: '', message: '' }

/** A law is broken: what was seen cannot be. */
export class LawBroken extends Error {
  override readonly name = 'LawBroken'
  readonly law: string

  constructor(law: string, message: string) {
    super(message)
    this.law = law
  }
}

/** Faults are over, and still something does not come to its end. */
export class NoProgress extends Error {
  override readonly name = 'NoProgress'
  readonly missing: string

  constructor(missing: string, message: string) {
    super(message)
    this.missing = missing
  }
}

/** How a run ended that threw this. */
export function endingOf(error: unknown): Ending {
  if (error instanceof LawBroken) return { verdict: 'safety', law: error.law, message: error.message }
  if (error instanceof NoProgress) return { verdict: 'liveness', law: error.missing, message: error.message }
  const { name, message, stack } = error as Error
  return { verdict: 'crash', law: name, message: `${message}\n${stack ?? ''}` }
}
