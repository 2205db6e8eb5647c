// Driver: the durable mark, a file of two slots. It owns the file and says how far the log is promised.
//
// Laws:
//   MK1  The mark never runs ahead: `advance` is called only for what a sync of the log has made durable.
//   MK2  Between two syncs of this file all writes go to one slot; the other one is durable. So a crash spoils at most one.
//   MK3  It may lag: writes are not synced one by one, and an advance during a write waits for it, then only the last counts.
//        A lag turns real damage into a torn tail, never whole records into damage. So it is synced when there is time:
//        at a roll, at close, and after 100 ms without an advance. An advance is written within 10 ms, not at once: a write for
//        each commit would be a second trip to the thread pool, and no promise rests on it before a sync.

import type { Clock, Timer } from '@latchkey/base'
import type { Done, File } from './file-system.js'
import { MARK_SLOT_AT, MARK_SLOT_BYTES } from './disk-format.js'
import { type Mark, putMark } from './durable-mark-slot.js'

const IDLE_MS = 100
const LAG_MS = 10

export interface MarkPorts {
  readonly file: File
  readonly clock: Clock
  failed(error: Error): void
}

interface Waiting {
  /** Syncs still to come, each of another slot. */
  rounds: number
  readonly done: Done
}

export class DurableMark {
  readonly #ports: MarkPorts
  readonly #bytes = Buffer.alloc(MARK_SLOT_BYTES)
  readonly #mark: { -readonly [K in keyof Mark]: Mark[K] }
  #slot: 0 | 1
  /** The slot lacks what #mark says. */
  #behind = false
  #busy = false
  #failure: Error | undefined
  #waiting: Waiting[] = []
  #whenIdle: (() => void) | undefined
  #timer: Timer | undefined
  #lagging: Timer | undefined
  #advancedAt = 0

  /** `slot`: the one that may be written, because the other one is durable. */
  constructor(ports: MarkPorts, mark: Mark, slot: 0 | 1) {
    this.#ports = ports
    this.#mark = { ...mark }
    this.#slot = slot
  }

  get first(): number {
    return this.#mark.first
  }

  advance(reach: number, checksum: number): void {
    this.#mark.reach = reach
    this.#mark.checksum = checksum
    this.#behind = true
    this.#lagging ??= this.#ports.clock.after(LAG_MS, this.#catchUp, { ref: false })
    this.#advancedAt = this.#ports.clock.now()
    this.#arm(IDLE_MS)
  }

  keepFrom(first: number): void {
    this.#mark.first = first
    this.#changed()
  }

  /** Makes what was said so far durable in one slot; in both, so that rot of one does not turn back time, with `settle`. */
  sync(done: Done): void {
    this.#want(1, done)
  }

  settle(done: Done): void {
    this.#want(2, done)
  }

  close(done: Done): void {
    this.#cancelTimers()
    if (this.#failure !== undefined) return this.#closeWhenIdle(done)
    this.settle((error) => this.#ports.file.close((failed) => done(error ?? failed)))
  }

  /** A descriptor is not closed under a call that still uses it. */
  #closeWhenIdle(done: Done): void {
    if (this.#busy) this.#whenIdle = () => this.#ports.file.close(done)
    else this.#ports.file.close(done)
  }

  /** The log failed: nothing more is promised. */
  abandon(error: Error): void {
    this.#failure ??= error
    this.#cancelTimers()
    const waiting = this.#waiting
    this.#waiting = []
    for (const { done } of waiting) done(error)
  }

  #cancelTimers(): void {
    this.#timer?.cancel()
    this.#lagging?.cancel()
  }

  readonly #catchUp = (): void => {
    this.#lagging = undefined
    this.#step()
  }

  #want(rounds: number, done: Done): void {
    const failure = this.#failure
    if (failure !== undefined) return queueMicrotask(() => done(failure))
    this.#waiting.push({ rounds, done })
    this.#changed()
  }

  #changed(): void {
    this.#behind = true
    this.#step()
  }

  #step(): void {
    if (this.#failure !== undefined) return this.#whenIdle?.()
    if (this.#busy) return
    if (this.#behind) this.#write()
    else if (this.#waiting.length > 0) this.#sync()
  }

  #write(): void {
    this.#busy = true
    this.#behind = false
    this.#mark.sequence++
    putMark(this.#bytes, 0, this.#mark)
    this.#ports.file.write(MARK_SLOT_AT[this.#slot], this.#bytes, this.#written)
  }

  readonly #written = (error?: Error): void => {
    this.#busy = false
    if (error !== undefined) this.#fail(error)
    this.#step()
  }

  #sync(): void {
    this.#busy = true
    // Who asks from now on waits for a sync that begins later.
    const asked = this.#waiting.length
    this.#ports.file.sync((error) => {
      this.#busy = false
      if (error !== undefined) this.#fail(error)
      if (this.#failure !== undefined) return this.#step()
      this.#slot = this.#slot === 0 ? 1 : 0
      for (const one of this.#waiting.slice(0, asked)) one.rounds--
      const served = this.#waiting.filter((one) => one.rounds === 0)
      this.#waiting = this.#waiting.filter((one) => one.rounds > 0)
      this.#behind ||= this.#waiting.length > 0
      for (const one of served) one.done()
      this.#step()
    })
  }

  #fail(error: Error): void {
    this.abandon(error)
    this.#ports.failed(error)
  }

  /** One timer at a time; it is set anew only when it rings, not at each advance. */
  #arm(ms: number): void {
    this.#timer ??= this.#ports.clock.after(ms, this.#ring, { ref: false })
  }

  readonly #ring = (): void => {
    this.#timer = undefined
    if (this.#failure !== undefined) return
    const left = this.#advancedAt + IDLE_MS - this.#ports.clock.now()
    if (left > 0) this.#arm(left)
    else this.settle(() => {})
  }
}
