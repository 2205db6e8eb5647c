// Rule: a set whose members carry their places in it.
//
// No Set: the table of one that is added to and deleted from with each hold is replaced again and again, and one such table that has
// grown old keeps all that came after it, with what they held, from being collected while they are young.

export interface Placed {
  /** Its place in the crowd; the crowd's alone. */
  place: number
}

/** The place of one that is in no crowd. */
export const NOWHERE = -1

export class Crowd<Member extends Placed> {
  readonly #members: Member[] = []

  get size(): number {
    return this.#members.length
  }

  add(member: Member): void {
    if (member.place === NOWHERE) member.place = this.#members.push(member) - 1
  }

  /** False: it was not there. The last one takes its place. */
  delete(member: Member): boolean {
    const { place } = member
    if (place === NOWHERE) return false
    member.place = NOWHERE
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
