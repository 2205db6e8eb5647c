// Driver: keeps the durable mark, a small file that says up to which offset the log is durable.
// The file has two slots (durable-mark-slot.ts). Recovery needs the mark to tell two faults apart. Damage
// after the mark comes from a power loss. Damage before the mark means that the disk has lost durable bytes.
//
// Laws:
//   MK1  The mark is never ahead of the log: `advance` is called only with an offset up to which the log is
//        synced.
//   MK2  Between two syncs of the mark's file, all writes go to one slot, and the other slot is durable. So a
//        crash damages one slot at most.
//   MK3  The mark may be behind the log. Then recovery may believe that a power loss caused damage to durable
//        bytes. But recovery still keeps all records before the damage. So the mark's file is not synced at
//        each commit. The file is written at most 10 ms after the log has moved. The file is synced when a
//        segment is full, at close, and once the log has not moved for 100 ms.
//   MK4  If the current slot already has the present values, a sync does not write the slot again.

import { type Clock, microtask, type Timer } from '@latchkey/base'
import type { Done, File } from './file-system-interface.js'
import { MARK_SLOT_AT, MARK_SLOT_BYTES } from './disk-format.js'
import { type DurableMark, putMark } from './durable-mark-slot.js'

const IDLE_MS = 100
const LAG_MS = 10

interface MarkPorts {
  readonly file: File
  readonly clock: Clock
  failed(error: Error): void
}

interface Waiting {
  /**
   * How many more syncs this caller waits for, 1 or 2. One sync makes the values durable in one slot. The
   * next sync makes them durable in the other slot.
   */
  rounds: number
  readonly done: Done
}

export class DurableMarkFile {
  readonly #ports: MarkPorts
  readonly #bytes = Buffer.alloc(MARK_SLOT_BYTES)
  readonly #mark: { -readonly [K in keyof DurableMark]: DurableMark[K] }
  #slot: 0 | 1
  #behind = false
  #isWritten = false
  #busy = false
  #failure: Error | undefined
  #waiting: Waiting[] = []
  #whenIdle: (() => void) | undefined
  #timer: Timer | undefined
  #lagging: Timer | undefined
  #advancedAt = 0

  /** `slot` is the number of the slot to write next. The other slot is durable. */
  constructor(ports: MarkPorts, mark: DurableMark, slot: 0 | 1) {
    this.#ports = ports
    this.#mark = { ...mark }
    this.#slot = slot
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

  sync(done: Done): void {
    this.#want(1, done)
  }

  /**
   * Calls `done` when both slots durably have the present values. If only one slot had the present values,
   * damage to that slot would bring back old values.
   */
  syncBothSlots(done: Done): void {
    this.#want(2, done)
  }

  close(done: Done): void {
    this.#cancelTimers()
    if (this.#failure !== undefined) return this.#closeWhenIdle(done)
    this.syncBothSlots((error) => this.#ports.file.close((failed) => done(error ?? failed)))
  }

  /** A file descriptor must not be closed while a write or a sync of it is running. */
  #closeWhenIdle(done: Done): void {
    if (this.#busy) this.#whenIdle = () => this.#ports.file.close(done)
    else this.#ports.file.close(done)
  }

  /**
   * Called when the log has failed. The mark is not written any more, because nobody knows what is on the
   * disk.
   */
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
    // A caller that comes during this sync of the file waits for the next sync.
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
   * Sets the timer if no timer runs. A running timer is not set again, because `advance` is called for every
   * commit. If the timer fires before the log has been idle for IDLE_MS, #ring sets a timer for the rest of
   * that time.
   */
  #arm(ms: number): void {
    this.#timer ??= this.#ports.clock.after(ms, this.#ring, { ref: false })
  }

  readonly #ring = (): void => {
    this.#timer = undefined
    if (this.#failure !== undefined) return
    const left = this.#advancedAt + IDLE_MS - this.#ports.clock.now()
    if (left > 0) this.#arm(left)
    else this.syncBothSlots(() => {})
  }
}
