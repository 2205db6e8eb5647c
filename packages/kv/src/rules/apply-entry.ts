// Rule: applies one entry of the log. First, all sessions, waits, holds and keys end whose deadline is before
// the cluster time of the entry. Then the commands of the entry are executed (CT3, CT4). `proceed` returns
// early if a command needs stored rows, or if the turn of the event loop has reached its limit of work. The
// next call of `proceed` then continues the entry.
//
// Laws
// - A: the commands of the entry come last. Before them, in this order, sessions end, waits for locks end,
//   holds expire, unused semaphores are removed, waits at latches and barriers end, and keys expire.
// - B: each command gets an answer of its own. A refused command changes nothing.
// - C: each call of a session has a number, and is executed at most once. A repeated call gets its kept
//   reply. A call with a number below `done`, or of an ended session, is refused (docs/locks.md, section 6).
// - D: if the kept replies of a session have reached their limit, the state machine executes only the lowest
//   unfinished call of the session. Every other call gets the answer SESSION_FULL, and the client sends it
//   again later. If the lowest call also waited, no kept reply could be dropped, and the session would stay
//   full for ever.

import { checksum } from '@latchkey/base'
import { expire, touch } from '@latchkey/lock'
import {
  type BudgetLimits,
  type Command,
  LatchkeyError,
  OP,
  decodeCommand,
  isBadCommand,
  overBudget,
  rowsNamed,
} from '@latchkey/protocol'
import type { Entry } from '@latchkey/raft/core'
import {
  FINISHED,
  MALFORMED,
  NOT_ALONE,
  NO_SESSION,
  OTHER_BODY,
  Refused,
  SESSION_IS_FULL,
  SESSION_IS_OVER,
  answerBytes,
  answerOf,
  type GivenAnswer,
} from '../commands/answer-encoding.js'
import { BatchReader } from '../commands/log-entry-records.js'
import { plainKeyAt, plainKeyEnd, plainValueAt } from '../commands/plain-put-parser.js'
import { bodyChecksum } from '../storage/stored-row-checksum.js'
import { keyChecksum, withWord } from '../storage/fast-crc32-of-short-bytes.js'
import type { KvLimits } from '../kv-store-types.js'
import { ANY_BODY, type Session } from '../state/session-rows.js'
import { type ApplyContext, execute } from './execute-command.js'
import { type Found, NOTHING_FOUND, type Needed, rangesOf } from './ranges-needed-by-command.js'
import { put } from './key-value-commands.js'
import { Budget, OverBudget } from './work-limit-per-command.js'
import { WriteSet } from './command-write-set.js'
import { neededExpiry, removeKeys } from './key-expiry.js'
import { LongWork } from './work-limit-per-event-loop-turn.js'
import { expireParties } from './latch-and-barrier-waits.js'
import { endDueSessions, endSessionOf, openSession } from './sessions.js'

/** A command that waits for stored rows, or for another turn of the event loop. */
interface Held {
  readonly session: Session
  readonly number: number
  readonly crc: number
  readonly command: Command
  work?: LongWork
}

/**
 * What `proceed` waits for. If it waits for rows (Needed), the caller reads these rows and passes them to the
 * next call of `proceed`. 'turn' means that the caller calls `proceed` again in another turn of the event
 * loop.
 */
export type Waiting = Needed | 'turn'

export class EntryRun {
  readonly answers: GivenAnswer[] = []
  readonly #context: ApplyContext
  readonly #entry: Entry
  readonly #limits: KvLimits
  readonly #reader: BatchReader
  #held: Held | undefined
  /**
   * The removal of expired keys, which comes before the commands. A Needed names the rows to read for the
   * removal. A LongWork is the removal itself. Undefined means that nothing is left to remove.
   */
  #expiry: Needed | LongWork | undefined

  constructor(context: ApplyContext, entry: Entry, limits: KvLimits) {
    this.#context = context
    this.#entry = entry
    this.#limits = limits
    this.#reader = new BatchReader(entry.kind === 'commands' ? entry.data : NO_DATA)
    this.#letTimePass()
  }

  /** Law A. Also finds the expired keys. */
  #letTimePass(): void {
    const { state, locks } = this.#context
    expire(locks, endDueSessions(state, locks))
    locks.forgetSemaphores()
    expireParties(state.parties, this.#entry.time)
    const needed = neededExpiry(state, this.#entry.time)
    if (needed !== undefined) this.#expiry = { expiry: needed }
  }

  /**
   * Removes the expired keys, and then applies commands until one of these steps has to wait. Returns what
   * the step waits for, or undefined when the whole entry is applied.
   */
  proceed(found: Found = NOTHING_FOUND): Waiting | undefined {
    const expiring = this.#expireKeys(found)
    if (expiring !== undefined) return expiring
    const held = this.#held
    if (held !== undefined) {
      this.#held = undefined
      const waiting = this.#run(held, found)
      if (waiting !== undefined) return waiting
    }
    const { turn } = this.#context
    while (!this.#reader.isDone) {
      if (turn.isOver) return 'turn'
      this.#reader.next()
      turn.record(this.#reader.bodyEnd - this.#reader.bodyAt)
      const waiting = this.#record()
      if (waiting !== undefined) return waiting
    }
    return undefined
  }

  /** Removes the expired keys. Returns what the removal waits for, or undefined when the removal is done. */
  #expireKeys({ expiry: found }: Found): Waiting | undefined {
    const expiry = this.#expiry
    if (expiry === undefined) return undefined
    if (!(expiry instanceof LongWork)) {
      if (found === undefined) return expiry
      const { state, caps, turn } = this.#context
      const writeSet = new WriteSet(state, caps, new Budget(NO_LIMITS, 0, turn))
      this.#expiry = new LongWork(removeKeys(state, writeSet, found))
      return this.#expireKeys(NOTHING_FOUND)
    }
    if (expiry.steps.next().done !== true) return 'turn'
    this.#expiry = undefined
    return undefined
  }

  /**
   * Executes a command, or continues it. Returns undefined when the command is answered, or 'turn' if this
   * turn of the event loop has reached its limit of work.
   */
  #run(held: Held, found: Found): 'turn' | undefined {
    const { session, number, crc, command } = held
    try {
      const outcome = held.work ?? execute(this.#context, session, command, found)
      if (!(outcome instanceof LongWork)) return this.#finish(session, number, crc, outcome)
      const { done, value } = outcome.steps.next()
      if (done === true) return this.#finish(session, number, crc, value)
      this.#held = { ...held, work: outcome }
      return 'turn'
    } catch (error) {
      if (error instanceof OverBudget) return this.#finish(session, number, crc, error.refused)
      throw error
    }
  }

  #record(): Waiting | undefined {
    const { session, number, bad } = this.#reader
    if (bad) return this.#answer(MALFORMED.bytes)
    if (session === 0) return this.#answer(answerBytes(this.#withoutSession()))
    const known = this.#context.state.sessions.get(session)
    if (known === undefined) return this.#answer(SESSION_IS_OVER)
    this.#renew(known)
    return number === 0 ? this.#unnumbered(known) : this.#numbered(known)
  }

  #answer(bytes: Uint8Array, fromTable = false): undefined {
    this.answers.push({ bytes, fromTable })
    return undefined
  }

  #withoutSession(): unknown {
    const command = this.#decoded()
    if (command === undefined) return MALFORMED
    if (command[0] !== OP.openSession && command[0] !== OP.endSession) return NO_SESSION
    const { bodyEnd, data } = this.#reader
    if (this.answers.length > 0 || bodyEnd !== data.length) return NOT_ALONE
    const { state, locks } = this.#context
    if (command[0] === OP.endSession) return endSessionOf(state, locks, command[1])
    const wanted = { id: this.#entry.index, life: command[1], by: command[2] ?? '' }
    return openSession(state, locks, wanted, this.#limits)
  }

  /**
   * Renews the session, confirms all grants of locks to the session, and drops the replies that the client
   * has received. Even a refused command has these effects, because every command shows that the client is
   * alive.
   */
  #renew(session: Session): void {
    const { state, locks } = this.#context
    state.sessions.renew(session, this.#entry.time)
    if (state.holds.hasUntouched(session.id)) touch(locks, session.id)
    state.sessions.finish(session, this.#reader.done)
  }

  /**
   * Executes a command without a call number. Such a command may be applied twice. So only three commands are
   * allowed, whose second execution does no harm.
   */
  #unnumbered(session: Session): undefined {
    const command = this.#decoded()
    const op = command?.[0]
    const allowed = op === OP.keepAlive || op === OP.closeSession || op === OP.cancelCall
    const outcome =
      command !== undefined && allowed ? execute(this.#context, session, command, NOTHING_FOUND) : MALFORMED
    return this.#answer(answerBytes(outcome))
  }

  #numbered(session: Session): Waiting | undefined {
    const { number, data, bodyAt, bodyEnd } = this.#reader
    if (number < session.done) return this.#answer(FINISHED.bytes)
    const valueAt = plainValueAt(data, bodyAt, bodyEnd)
    if (valueAt > 0) return this.#plainPut(session, valueAt)
    const { body } = this.#reader
    const crc = checksum(body)
    if (this.#isAnswered(session, crc)) return undefined
    const command = this.#decoded(body)
    if (command === undefined || isOwnCancel(command, number))
      return this.#finish(session, number, crc, MALFORMED)
    const over = overBudget(command, this.#limits.budget)
    if (over !== null) return this.#finish(session, number, crc, new Refused('ERR_TOO_LARGE', over))
    const needed = rangesOf(command)
    const held = { session, number, crc, command }
    const { turn } = this.#context
    turn.named(rowsNamed(command))
    if (needed === undefined && !turn.isOver) return this.#run(held, NOTHING_FOUND)
    this.#held = held
    return needed ?? 'turn'
  }

  /** The checksum of the value is used twice: for the stored row, and to recognize a repeated request. */
  #plainPut(session: Session, valueAt: number): undefined {
    const { number, data, bodyAt, bodyEnd } = this.#reader
    const key = data.toString('latin1', plainKeyAt(bodyAt), plainKeyEnd(data, bodyAt))
    const value = this.#reader.view(valueAt, bodyEnd)
    const valueSum = bodyChecksum(value)
    const crc = withWord(valueSum, keyChecksum(OP.put, key))
    if (this.#isAnswered(session, crc)) return undefined
    return this.#finish(session, number, crc, put(this.#context.state, key, value, valueSum))
  }

  /**
   * If the call was executed before, or may not be executed now, answers the call and returns true (laws C
   * and D).
   */
  #isAnswered(session: Session, crc: number): boolean {
    const { number } = this.#reader
    const kept = session.replies.get(number)
    if (kept !== undefined) {
      if (kept.crc !== crc && kept.crc !== ANY_BODY) this.#answer(OTHER_BODY.bytes)
      else this.#answer(this.#context.state.sessions.bytesOf(kept), true)
      return true
    }
    if (!this.#isFull(session) || number === session.done) return false
    this.#answer(SESSION_IS_FULL)
    return true
  }

  #isFull(session: Session): boolean {
    const { sessionNumbers, sessionAnswerBytes } = this.#limits
    return session.replies.size >= sessionNumbers || session.replyBytes >= sessionAnswerBytes
  }

  /**
   * Keeps the answer in the session, so that a repeated request gets the same answer. If a command has ended
   * its own session, no answer is kept.
   */
  #finish(session: Session, number: number, crc: number, outcome: unknown): undefined {
    const answer = answerOf(outcome)
    const { sessions } = this.#context.state
    if (sessions.get(session.id) === session) sessions.keep(session, number, crc, answer)
    this.answers.push(answer)
    return undefined
  }

  /**
   * Returns undefined if the command is malformed. Throws if the command is of a later version. If a member
   * skipped a command that other members know, its state would differ from theirs (A6).
   */
  #decoded(body = this.#reader.body): Command | undefined {
    const command = decodeCommand(body)
    if (!isBadCommand(command)) return command
    if (command.bad === 'invalid') return undefined
    throw new LatchkeyError(
      'ERR_PROTOCOL',
      `Entry ${this.#entry.index} of the log holds a command that this version does not know (${command.reason}). Start the version that wrote it.`,
    )
  }
}

const NO_DATA = new Uint8Array(0)
/** The removal of expired keys has no limits here. key-expiry.ts limits how many keys one entry removes. */
const MOST = Number.POSITIVE_INFINITY
const NO_LIMITS: BudgetLimits = { rows: MOST, ranges: MOST, readBytes: MOST, writeBytes: MOST }

const isOwnCancel = (command: Command, number: number): boolean =>
  command[0] === OP.cancelCall && command[1] === number
