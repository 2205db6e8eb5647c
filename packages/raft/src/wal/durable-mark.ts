// Driver: owns the durable mark, a file with two slots that says up to which offset the log is promised
// to be durable.
//
// Laws:
//   MK1  The mark is never ahead of the log: `advance` is called only for what a sync of the log
//        has made durable.
//   MK2  Between two syncs of this file all writes go to one slot, and the other slot is durable. So a crash
//        damages one slot at most.
//   MK3  The mark may be behind the log. Its writes are not synced one by one, and advances during a write
//        are joined into one later write. If the mark is behind, recovery may believe that real damage is a
//        torn tail, but it never believes that whole records are damaged. So the mark is synced when there is
//        time: when a new segment begins, at close, and after 100 ms without an advance. An advance is
//        written within 10 ms and not at once, because a write for each commit would need the thread pool a
//        second time. No promise depends on the mark before its sync.
//   MK4  A mark that is already in the slot is not written again before a sync.

import { type Clock, microtask, type Timer } from '@latchkey/base'
import type { Done, File } from './file-system.js'
import { MARK_SLOT_AT, MARK_SLOT_BYTES } from './disk-format.js'
import { type Mark, putMark } from './durable-mark-slot.js'

const IDLE_MS = 100
const LAG_MS = 10

interface MarkPorts {
  readonly file: File
  readonly clock: Clock
  failed(error: Error): void
}

interface Waiting {
  /** How many syncs this caller still waits for. Each sync is of another slot. */
  rounds: number
  readonly done: Done
}

export class DurableMark {
  readonly #ports: MarkPorts
  readonly #bytes = Buffer.alloc(MARK_SLOT_BYTES)
  readonly #mark: { -readonly [K in keyof Mark]: Mark[K] }
  #slot: 0 | 1
  /** True if the slot has to be written before a sync. */
  #behind = false
  /** True if the last write has written the present value of #mark into the slot. */
  #isWritten = false
  #busy = false
  #failure: Error | undefined
  #waiting: Waiting[] = []
  #whenIdle: (() => void) | undefined
  #timer: Timer | undefined
  #lagging: Timer | undefined
  #advancedAt = 0

  /** `slot` is the number of the slot that may be written, because the other slot is durable. */
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
    this.#isWritten = false
    this.#lagging ??= this.#ports.clock.after(LAG_MS, this.#catchUp, { ref: false })
    this.#advancedAt = this.#ports.clock.now()
    this.#arm(IDLE_MS)
  }

  keepFrom(first: number): void {
    this.#mark.first = first
    this.#behind = true
    this.#isWritten = false
    this.#step()
  }

  /**
   * `sync` makes the current mark durable in one slot. `settle` makes it durable in both slots, so that
   * damage to one slot does not bring an older mark back.
   */
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

  /** A file descriptor must not be closed while a call still uses it. */
  #closeWhenIdle(done: Done): void {
    if (this.#busy) this.#whenIdle = () => this.#ports.file.close(done)
    else this.#ports.file.close(done)
  }

  /** Called when the log has failed, so the mark promises nothing more. */
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
    if (failure !== undefined) return microtask(() => done(failure))
    this.#waiting.push({ rounds, done })
    this.#behind ||= !this.#isWritten
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
    this.#isWritten = true
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
    // A caller that comes during this sync waits for a later sync.
    const asked = this.#waiting.length
    this.#ports.file.sync((error) => {
      this.#busy = false
      if (error !== undefined) this.#fail(error)
      if (this.#failure !== undefined) return this.#step()
      this.#slot = this.#slot === 0 ? 1 : 0
      this.#isWritten = false
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

  /**
   * Only one timer is set at a time. An advance does not set the timer again. If the timer fires too early,
   * it sets itself again.
   */
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
