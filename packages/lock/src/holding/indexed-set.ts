// Rule: a set whose members carry their places in it.
//
// No Set: the table of one that is added to and deleted from with each hold is replaced again and again, and one such table that has
// grown old keeps all that came after it, with what they held, from being collected while they are young.

export interface Indexed {
  /** Its place in the set; the set's alone. */
  place: number
}

/** The place of one that is in no set. */
export const NOT_IN_SET = -1

export class IndexedSet<Member extends Indexed> {
  readonly #members: Member[] = []

  get size(): number {
    return this.#members.length
  }

  add(member: Member): void {
    if (member.place === NOT_IN_SET) member.place = this.#members.push(member) - 1
  }

  /** False: it was not there. The last one takes its place. */
  delete(member: Member): boolean {
    const { place } = member
    if (place === NOT_IN_SET) return false
    member.place = NOT_IN_SET
    const last = this.#members.pop() as Member
    if (last === member) return true
    this.#members[place] = last
    last.place = place
    return true
  }

  /** From the last to the first: whoever is there all the time is met, though `run` takes members out. One may be met twice. */
  forEach(run: (member: Member) => void): void {
    for (let place = this.#members.length - 1; place >= 0; place--) {
      const member = this.#members[place]
      if (member !== undefined) run(member)
    }
  }
}
