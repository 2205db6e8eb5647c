// Driver: one timer for any number of deadlines. Adding and removing cost the same for one as for a hundred thousand.

import type { Clock, Timer } from '@latchkey/base'

/** What has a deadline carries its own place in the list of its bucket. */
export interface Due {
  /** Number of the bucket; 0: none. */
  bucket: number
  before: Due | undefined
  after: Due | undefined
}

/** Deadlines are rounded up to this, ms: nothing ends before its time. */
const WIDTH = 4
/** So many numbers of empty buckets may be kept, or as many as there are others. */
const FEW_EMPTY = 1_024

export class Deadlines<Item extends Due> {
  readonly #clock: Clock
  readonly #onDue: (item: Item) => void
  /** First of the items of each bucket that has any. */
  readonly #heads = new Map<number, Item>()
  /** CallNumbers of buckets, the least first; may name buckets that are empty by now. */
  readonly #order: number[] = []
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
    else push(this.#order, bucket)
    this.#heads.set(bucket, item)
    if (this.#order.length > FEW_EMPTY + 2 * this.#heads.size) this.#forgetEmpty()
    if (bucket < this.#armedFor) this.#arm(bucket)
  }

  /** A call that is answered long before its time leaves its bucket's number behind, and so does each one after it. */
  #forgetEmpty(): void {
    this.#order.length = 0
    for (const bucket of this.#heads.keys()) push(this.#order, bucket)
  }

  /** CallNumbers of buckets that are kept. */
  get kept(): number {
    return this.#order.length
  }

  /** The timer stays as it is: one that fires for nothing is cheaper than a new one for each call. */
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

  /** No timer is left. */
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
    for (let least = this.#order[0]; least !== undefined && least * WIDTH <= now; least = this.#order[0]) {
      pop(this.#order)
      this.#end(least)
    }
    while (this.#order[0] !== undefined && !this.#heads.has(this.#order[0])) pop(this.#order)
    if (this.#order[0] !== undefined && this.#order[0] < this.#armedFor) this.#arm(this.#order[0])
  }

  #end(bucket: number): void {
    for (let item = this.#heads.get(bucket); item; item = this.#heads.get(bucket)) {
      this.remove(item)
      this.#onDue(item)
    }
  }
}

// ---- a binary heap of numbers

function push(heap: number[], value: number): void {
  let at = heap.length
  heap.push(value)
  while (at > 0) {
    const parent = (at - 1) >> 1
    if ((heap[parent] as number) <= value) break
    heap[at] = heap[parent] as number
    at = parent
  }
  heap[at] = value
}

function pop(heap: number[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let at = 0
  for (let child = 1; child < heap.length; child = 2 * at + 1) {
    if (child + 1 < heap.length && (heap[child + 1] as number) < (heap[child] as number)) child++
    if ((heap[child] as number) >= last) break
    heap[at] = heap[child] as number
    at = child
  }
  heap[at] = last
}
