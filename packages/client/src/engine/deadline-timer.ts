// Driver: one timer for any number of deadlines. Adding or removing a deadline takes the same time for one
// deadline as for a hundred thousand.

import { type Clock, Heap, type Timer } from '@latchkey/base'

/**
 * A bucket is a linked list of the items whose deadlines are in the same 4 ms. The items are the list's
 * nodes.
 */
export interface DeadlineItem {
  bucket: number
  before: DeadlineItem | undefined
  after: DeadlineItem | undefined
}

/**
 * In ms, the width of a bucket. Deadlines are rounded up to a multiple of this width, so no item ends before
 * its time.
 */
const WIDTH = 4
/**
 * Empty buckets are removed from the heap when there are this many more empty buckets than buckets with
 * items.
 */
const FEW_EMPTY = 1_024

export class Deadlines<Item extends DeadlineItem> {
  readonly #clock: Clock
  readonly #onDue: (item: Item) => void
  readonly #heads = new Map<number, Item>()
  /** The numbers of the buckets, the lowest first. Some of these buckets may be empty by now. */
  readonly #order = new Heap<number>((a, b) => a < b)
  #timer: Timer | undefined
  #armedFor = Number.POSITIVE_INFINITY

  constructor(clock: Clock, onDue: (item: Item) => void) {
    this.#clock = clock
    this.#onDue = onDue
  }

  /** `at` is a time of clock.now(). */
  add(item: Item, at: number): void {
    const bucket = Math.max(1, Math.ceil(at / WIDTH))
    const head = this.#heads.get(bucket)
    item.bucket = bucket
    item.before = undefined
    item.after = head
    if (head) head.before = item
    else this.#order.push(bucket)
    this.#heads.set(bucket, item)
    if (this.#order.size > FEW_EMPTY + 2 * this.#heads.size) this.#forgetEmpty()
    if (bucket < this.#armedFor) this.#arm(bucket)
  }

  /**
   * Removes empty buckets. A call that is answered long before its deadline leaves an empty bucket in the
   * heap. Without this method, the heap would grow with each of these calls.
   */
  #forgetEmpty(): void {
    this.#order.clear()
    for (const bucket of this.#heads.keys()) this.#order.push(bucket)
  }

  get kept(): number {
    return this.#order.size
  }

  /**
   * Removes an item before its deadline. The timer stays set, because a timer that finds nothing to do takes
   * less time than a new timer for each call.
   */
  remove(item: Item): void {
    if (item.bucket === 0) return
    const { before, after } = item
    if (before) before.after = after
    else if (after) this.#heads.set(item.bucket, after as Item)
    else this.#heads.delete(item.bucket)
    if (after) after.before = before
    item.bucket = 0
    item.before = item.after = undefined
  }

  /** Stops the timer. */
  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#armedFor = Number.POSITIVE_INFINITY
  }

  #arm(bucket: number): void {
    this.#timer?.cancel()
    this.#armedFor = bucket
    this.#timer = this.#clock.after(bucket * WIDTH - this.#clock.now(), () => this.#fire())
  }

  #fire(): void {
    this.stop()
    const now = this.#clock.now()
    for (let least = this.#order.top; least !== undefined && least * WIDTH <= now; least = this.#order.top) {
      this.#order.pop()
      this.#end(least)
    }
    while (this.#order.top !== undefined && !this.#heads.has(this.#order.top)) this.#order.pop()
    if (this.#order.top !== undefined && this.#order.top < this.#armedFor) this.#arm(this.#order.top)
  }

  #end(bucket: number): void {
    for (let item = this.#heads.get(bucket); item; item = this.#heads.get(bucket)) {
      this.remove(item)
      this.#onDue(item)
    }
  }
}
