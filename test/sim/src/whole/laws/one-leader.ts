// Rule: election safety. Of one term there is one leader, and it leads in one life: one that comes back has
// voted for itself, and knows it. Who led is remembered to the end of the run, whoever notices the other (E1,
// E3, E4).

import { LawBroken } from '../../laws/verdict.js'

export class OneLeader {
  /** By term: who led, and in which life. */
  readonly #byTerm = new Map<number, { readonly member: string; readonly life: object }>()

  leads(term: number, member: string, life: object): void {
    const first = this.#byTerm.get(term)
    if (first === undefined) this.#byTerm.set(term, { member, life })
    else if (first.member !== member)
      throw new LawBroken('one leader', `${first.member} and ${member} both lead in term ${term}`)
    else if (first.life !== life)
      throw new LawBroken('one leader', `${member} leads in term ${term} again, in another life`)
  }
}
