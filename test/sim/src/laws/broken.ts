// Rule: a broken law says which sentence is no longer true.

export class LawBroken extends Error {
  override readonly name = 'LawBroken'
  readonly law: string

  constructor(law: string, message: string) {
    super(message)
    this.law = law
  }
}
