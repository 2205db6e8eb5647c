// Rule: the kept replies of one session, by the numbers of their calls. The numbers of the unfinished calls of
// a client are close together. So most replies are in an array, at the index `number % array length`.
//
// Law: if two replies would have the same index, the array doubles. If the array already has the largest
// length, the later reply goes into a Map. Without this law: a client names two numbers that are far apart,
// and a member allocates an array for all numbers between them.

import { CAPS } from '@latchkey/protocol'

const FIRST_LENGTH = 16
/** The numbers of the unfinished calls of Latchkey's own client are less than this far apart. */
const MOST_LENGTH = CAPS.sessionNumbers

export class RepliesByNumber<Reply extends { readonly number: number }> {
  #near: (Reply | undefined)[] = new Array(FIRST_LENGTH).fill(undefined)
  #far: Map<number, Reply> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  get(number: number): Reply | undefined {
    const near = this.#near[number % this.#near.length]
    return near?.number === number ? near : this.#far?.get(number)
  }

  /** Adds a reply to a call that has no kept reply. */
  add(reply: Reply): void {
    this.#size++
    while (!this.#addNear(reply)) {
      if (this.#near.length === MOST_LENGTH) {
        this.#far ??= new Map()
        this.#far.set(reply.number, reply)
        return
      }
      this.#double()
    }
  }

  #addNear(reply: Reply): boolean {
    const index = reply.number % this.#near.length
    if (this.#near[index] !== undefined) return false
    this.#near[index] = reply
    return true
  }

  /** No two replies of the array get the same index in an array of twice the length. */
  #double(): void {
    const old = this.#near
    this.#near = new Array(old.length * 2).fill(undefined)
    for (const reply of old) if (reply !== undefined) this.#addNear(reply)
  }

  delete(number: number): void {
    const index = number % this.#near.length
    if (this.#near[index]?.number === number) this.#near[index] = undefined
    else if (this.#far?.delete(number) !== true) return
    this.#size--
  }

  clear(): void {
    this.#near = new Array(FIRST_LENGTH).fill(undefined)
    this.#far = undefined
    this.#size = 0
  }

  /** Returns the replies in no particular order. */
  all(): Reply[] {
    const replies = this.#near.filter((reply) => reply !== undefined)
    return this.#far === undefined ? replies : [...replies, ...this.#far.values()]
  }
}
