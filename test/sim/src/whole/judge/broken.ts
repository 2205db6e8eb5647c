// Rule: how a run says that it failed.

/** A law is broken: what was seen cannot be. */
export class Broken extends Error {
  override readonly name = 'Broken'
  readonly law: string

  constructor(law: string, message: string) {
    super(message)
    this.law = law
  }
}

/** Faults are over, and still something does not come to its end. */
export class Stuck extends Error {
  override readonly name = 'Stuck'
  readonly missing: string

  constructor(missing: string, message: string) {
    super(message)
    this.missing = missing
  }
}
