// Driver: keeps the sessions and the kept replies of their calls (docs/locks.md, section 6) in memory,
// ordered by deadline. The rows in the store have the same contents.
//
// Law: if a reply was added and removed between two batches, no batch has the reply.

import { assert } from '@latchkey/base'
import { type GivenAnswer, UnencodedAnswer } from '../commands/answer-encoding.js'
import { SPACE, keyOfNumber, numberIn, replyKey } from '../keyspaces.js'
import type { Row, RowChange, RowStore } from '../storage/row-store-interface.js'
import { rowsOf } from '../storage/scan-rows.js'
import { damagedRow, intactBody } from '../storage/stored-row-checksum.js'
import { DueHeap } from './deadline-heap.js'
import { Reply, Session, decodeReply, decodeSession, replyRow, sessionRow } from './session-rows.js'

/**
 * In bytes. A longer answer leaves memory when its row is in the store, and is read from the store if the
 * client repeats the call.
 */
const RESIDENT_BYTES = 512
/** In bytes, about how much memory a kept reply takes besides its answer. */
const REPLY_BYTES = 200

/** Copies the answer. A view would keep the whole buffer in memory in which the answer was built. */
const ownAnswer = (bytes: Uint8Array): GivenAnswer => ({ bytes: Uint8Array.from(bytes), fromTable: false })

export class Sessions {
  readonly #store: RowStore
  readonly #byId = new Map<number, Session>()
  readonly #countOf = new Map<string, number>()
  readonly #heap = new DueHeap<Session>()
  readonly #dirty = new Set<Session>()
  #pendingBytes = 0
  #removed: Uint8Array[] = []
  /**
   * The replies in the batch that is being written. Each of these replies keeps its answer in memory until
   * the batch is on the disk, because the store cannot return the answer before that.
   */
  #inFlight: Reply[] = []

  constructor(store: RowStore) {
    this.#store = store
  }

  /** About how many bytes of replies wait for the next batch. */
  get pendingBytes(): number {
    return this.#pendingBytes
  }

  get size(): number {
    return this.#byId.size
  }

  get rowCount(): number {
    let count = this.#byId.size
    for (const session of this.#byId.values()) count += session.replies.size
    return count
  }

  get(id: number): Session | undefined {
    return this.#byId.get(id)
  }

  all(): Iterable<Session> {
    return this.#byId.values()
  }

  openerOf(id: number): string | undefined {
    return this.get(id)?.by
  }

  countOf(by: string): number {
    return this.#countOf.get(by) ?? 0
  }

  #add(session: Session): void {
    this.#byId.set(session.id, session)
    this.#countOf.set(session.by, this.countOf(session.by) + 1)
  }

  open(id: number, life: number, by: string, now: number): Session {
    assert(!this.#byId.has(id), `session ${id} twice`)
    const session = new Session(id, life, by)
    this.#add(session)
    this.renew(session, now)
    return session
  }

  /**
   * Moves the deadline of the session. All commands of one entry give the same deadline, so only the first
   * command of an entry has an effect.
   */
  renew(session: Session, now: number): void {
    const due = now + session.life
    if (session.due === due && session.heapIndex !== -1) return
    session.due = due
    this.#heap.update(session)
    this.#touched(session)
  }

  /**
   * Returns the sessions whose deadline has passed, in the order of their deadlines, then of their ids (CT3).
   * The caller ends these sessions.
   */
  takeDue(now: number): Session[] {
    return this.#heap.takeDue(now).sort((a, b) => a.due - b.due || a.id - b.id)
  }

  earliest(): number | undefined {
    return this.#heap.earliest()
  }

  end(session: Session): void {
    this.#byId.delete(session.id)
    const left = this.countOf(session.by) - 1
    if (left === 0) this.#countOf.delete(session.by)
    else this.#countOf.set(session.by, left)
    this.#heap.remove(session)
    this.#dirty.delete(session)
    for (const reply of session.replies.all()) this.#drop(reply)
    session.replies.clear()
    if (session.stored) this.#removed.push(keyOfNumber(SPACE.sessions, session.id))
  }

  keep(session: Session, number: number, crc: number, answer: GivenAnswer): void {
    const reply = new Reply(session, number, crc, answer)
    session.replies.add(reply)
    session.replyBytes += reply.size
    this.#pendingBytes += reply.size + REPLY_BYTES
    this.#touched(session)
  }

  /**
   * Removes the replies of the calls with numbers below `done`, because the client has their answers. `done`
   * never gets smaller.
   */
  finish(session: Session, done: number): void {
    if (done <= session.done) return
    const { replies } = session
    if (done - session.done <= replies.size) {
      for (let number = session.done; number < done; number++) this.#forget(session, replies.get(number))
    } else {
      for (const reply of replies.all()) if (reply.number < done) this.#forget(session, reply)
    }
    session.done = done
    this.#touched(session)
  }

  /** Returns the bytes of the kept answer, which are equal to the first answer to the call. */
  bytesOf(reply: Reply): Uint8Array {
    if (reply.bytes !== undefined) return reply.bytes
    const key = replyKey(reply.session.id, reply.number)
    const value = this.#store.get(key)
    if (value === undefined) throw damagedRow(key, 'it is missing')
    return decodeReply(intactBody(key, value)).bytes
  }

  #forget(session: Session, reply: Reply | undefined): void {
    if (reply === undefined) return
    session.replies.delete(reply.number)
    session.replyBytes -= reply.size
    this.#drop(reply)
  }

  #drop(reply: Reply): void {
    reply.dropped = true
    if (reply.stored) this.#removed.push(replyKey(reply.session.id, reply.number))
    else this.#pendingBytes -= reply.size + REPLY_BYTES
  }

  #touched(session: Session): void {
    if (session.dirty) return
    session.dirty = true
    this.#dirty.add(session)
  }

  collect(batch: RowChange[]): void {
    for (const key of this.#removed) batch.push({ key, value: undefined })
    for (const session of this.#dirty) {
      session.dirty = false
      session.stored = true
      batch.push(sessionRow(session))
      for (const reply of session.replies.all()) if (!reply.stored) this.#collectReply(batch, reply)
    }
    this.#removed = []
    this.#dirty.clear()
    this.#pendingBytes = 0
  }

  #collectReply(batch: RowChange[], reply: Reply): void {
    batch.push(replyRow(reply))
    reply.stored = true
    this.#inFlight.push(reply)
  }

  written(): void {
    for (const reply of this.#inFlight) {
      const { answer } = reply
      const isNumber = answer instanceof UnencodedAnswer && typeof answer.result === 'number'
      if (reply.dropped || answer === undefined || isNumber) continue
      reply.answer = reply.size > RESIDENT_BYTES ? undefined : ownAnswer(answer.bytes)
    }
    this.#inFlight = []
  }

  /** Returns every row in the form that the store must have, for state hashes and for a test. */
  *rows(): Iterable<Row> {
    for (const session of this.#byId.values()) {
      yield sessionRow(session)
      for (const reply of session.replies.all()) yield replyRow(reply, this.bytesOf(reply))
    }
  }

  async load(): Promise<void> {
    await this.#loadSessions()
    await this.#loadReplies()
  }

  async #loadSessions(): Promise<void> {
    for await (const { key, value } of rowsOf(this.#store, SPACE.sessions)) {
      const session = decodeSession(numberIn(key, 1), intactBody(key, value))
      this.#add(session)
      this.#heap.update(session)
    }
  }

  async #loadReplies(): Promise<void> {
    for await (const { key, value } of rowsOf(this.#store, SPACE.replies)) {
      const session = this.#byId.get(numberIn(key, 1))
      if (session === undefined) throw damagedRow(key, 'its session is missing')
      const { crc, bytes } = decodeReply(intactBody(key, value))
      const reply = new Reply(session, numberIn(key, 7), crc, ownAnswer(bytes))
      reply.stored = true
      if (reply.size > RESIDENT_BYTES) reply.answer = undefined
      session.replies.add(reply)
      session.replyBytes += reply.size
    }
  }
}
