// Rule: the results of a run: it passes, or it fails for a reason.

export type Verdict = 'pass' | 'crash' | 'safety' | 'liveness'

export interface Ending {
  readonly verdict: Verdict
  /** The broken law, the missing progress, or the name of the error. '' if the run has passed. */
  readonly law: string
  readonly message: string
}

export const PASS: Ending = { verdict: 'pass', law: '', message: '' }

export class LawBroken extends Error {
  override readonly name = 'LawBroken'
  readonly law: string

  constructor(law: string, message: string) {
    super(message)
    this.law = law
  }
}

export class NoProgress extends Error {
  override readonly name = 'NoProgress'
  readonly missing: string

  constructor(missing: string, message: string) {
    super(message)
    this.missing = missing
  }
}

export function endingOf(error: unknown): Ending {
  if (error instanceof LawBroken) return { verdict: 'safety', law: error.law, message: error.message }
  if (error instanceof NoProgress) return { verdict: 'liveness', law: error.missing, message: error.message }
  const { name, message, stack } = error as Error
  return { verdict: 'crash', law: name, message: `${message}\n${stack ?? ''}` }
}
