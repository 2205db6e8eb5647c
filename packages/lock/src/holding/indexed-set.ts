// Rule: a set that stores its members in an array. Each member stores its own index.
//
// A JavaScript Set would keep removed members in memory. Members are added and removed with each hold, so V8
// replaces the table of the Set again and again. Each replaced table points to the next table. A replaced
// table in the old generation keeps the later tables and their members in memory until a full garbage
// collection.

export interface Indexed {
  /** The index of the member in the set. The set alone writes this field. */
  index: number
}

export const NOT_IN_SET = -1

export class IndexedSet<Member extends Indexed> {
  readonly #members: Member[] = []

  get size(): number {
    return this.#members.length
  }

  add(member: Member): void {
    if (member.index === NOT_IN_SET) member.index = this.#members.push(member) - 1
  }

  /** Returns false if the member was not in the set. The last member moves to the free index. */
  delete(member: Member): boolean {
    const { index: place } = member
    if (place === NOT_IN_SET) return false
    member.index = NOT_IN_SET
    const last = this.#members.pop() as Member
    if (last === member) return true
    this.#members[place] = last
    last.index = place
    return true
  }

  /** The members, in any order. Later changes of the set do not change the array. */
  copy(): Member[] {
    return [...this.#members]
  }

  /**
   * Calls `run` for the members, from the last to the first. `run` may delete members. Each member that stays
   * in the set is visited once, or twice if a deletion moves it to a lower index.
   */
  forEach(run: (member: Member) => void): void {
    for (let place = this.#members.length - 1; place >= 0; place--) {
      const member = this.#members[place]
      if (member !== undefined) run(member)
    }
  }
}
