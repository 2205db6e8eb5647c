// Driver: sends commands so that each is executed exactly once (docs/locks.md, 6). This class owns the
// session and every call number of the session.
//
// Laws:
// - a command gets its number when it is first sent, and keeps its number and its bytes for ever.
// - if the outcome of a command is unknown, the command is sent again with the same number and the same
//   bytes.
// - if the caller stops waiting while the outcome is unknown, the number is cancelled in the background, so
//   that the command is not executed later.
// - a command that was never sent to a member may wait, move to another session, or end as not applied.

import { type Answer, type AnswerReply, LatchkeyError, SESSION_FULL, errorOf } from '@latchkey/protocol'
import type { Call, LinkState } from './call.js'
import { SessionUpkeep } from './session-housekeeping-requests.js'
import type { PendingCalls } from './pending-calls.js'
import { judgeCommand, sessionOver } from './outcome-of-answer.js'
import type { ActiveLink } from './shared-by-all-calls.js'
import { Queue } from './fifo-queue.js'
import type { Session } from './session.js'

/** How many commands may wait for a call number or for a leader. A further command fails with ERR_BUSY. */
const WAITING = 65_536
/**
 * How many bytes of commands may wait for a call number or for a leader. A further command fails with
 * ERR_BUSY.
 */
const WAITING_BYTES = 64 * 1024 * 1024
/** How many bytes of commands may have a call number and no answer. Further commands wait for a number. */
const OPEN_BYTES = 32 * 1024 * 1024
/**
 * How many commands are sent at a time in a full session, the lowest call numbers first. A session is full
 * when the members store no more answers for it. The members then execute only the session's unfinished call
 * with the lowest number.
 */
const FEW = 4

export class ExactlyOnceCommands {
  readonly #activeLink: ActiveLink
  readonly #pendingCalls: PendingCalls
  readonly #upkeep: SessionUpkeep
  readonly #opened: () => void
  readonly #fresh = new Queue<Call>()
  #freshBytes = 0
  #openBytes = 0
  #again: Call[] = []
  #full = false
  #session: Session | undefined
  #barriers = 0

  constructor(activeLink: ActiveLink, pendingCalls: PendingCalls, life: number, opened: () => void) {
    this.#activeLink = activeLink
    this.#pendingCalls = pendingCalls
    this.#opened = opened
    this.#upkeep = new SessionUpkeep(activeLink, life, {
      session: () => this.#session,
      opened: (session) => this.#begin(session),
      refused: (answer, never) => this.#refused(answer, never),
      over: (session) => this.over(session),
      ended: (target) => this.#finishNumber(target),
    })
  }

  /**
   * True if the session is kept alive for a caller, for example for a waiter in a lock's queue. The member
   * may then send a push that answers no request.
   */
  get awaits(): boolean {
    return this.#upkeep.keep.inUse
  }

  get sessionId(): number | undefined {
    return this.#session?.id
  }

  get crowded(): boolean {
    return this.#session !== undefined && !this.#session.numbers.room
  }

  // ---- New calls

  submit(call: Call): void {
    if (this.#fresh.length === 0 && this.#sendable()) return this.#number(call)
    if (this.#fresh.length >= WAITING || this.#freshBytes + bodyOf(call).length > WAITING_BYTES)
      return this.#pendingCalls.fail(call, new LatchkeyError('ERR_BUSY'))
    this.#queue(call)
    this.pump()
  }

  #queue(call: Call): void {
    this.#fresh.push(call)
    this.#freshBytes += bodyOf(call).length
  }

  /** Keeps the session alive for a waiting caller until the returned function is called. */
  use(): () => void {
    const end = this.#upkeep.keep.use()
    this.pump()
    return end
  }

  barrier(): () => void {
    this.#barriers++
    let up = true
    return () => {
      if (!up) return
      up = false
      this.#barriers--
      this.pump()
    }
  }

  #sendable(): boolean {
    const session = this.#session
    return (
      session !== undefined &&
      this.#barriers === 0 &&
      this.#activeLink.leading !== undefined &&
      session.numbers.room &&
      this.#openBytes < OPEN_BYTES &&
      !session.stale(this.#activeLink.now())
    )
  }

  // ---- Sending commands

  /**
   * Sends the waiting commands. Commands that were already sent and have no answer go first, in the order of
   * their numbers.
   */
  resume(): void {
    const live = this.#activeLink.leading
    if (live && this.#again.length > 0) this.#sendAgain(live)
    this.#upkeep.pump()
    this.pump()
    this.#upkeep.keep.check()
  }

  #sendAgain(live: LinkState): void {
    const again = this.#again
      .filter((call) => !call.finished && !call.abandoned)
      .sort((a, b) => a.number - b.number)
    const now = this.#full ? again.splice(0, FEW) : again.splice(0)
    this.#again = again
    this.#full &&= again.length > 0
    for (const call of now) this.#send(live, call)
    if (again.length > 0) this.#activeLink.later()
  }

  pump(): void {
    const live = this.#activeLink.leading
    if (!live || (this.#fresh.length === 0 && !this.#upkeep.keep.inUse)) return
    this.#dropStale()
    if (!this.#session) return this.#upkeep.open(live)
    while (this.#fresh.length > 0 && this.#sendable()) {
      const call = this.#fresh.shift() as Call
      if (call.settled) continue
      this.#freshBytes -= bodyOf(call).length
      this.#number(call)
    }
  }

  #number(call: Call): void {
    const session = this.#session as Session
    call.number = session.numbers.take(call)
    call.session = session.id
    this.#openBytes += bodyOf(call).length
    this.#send(this.#activeLink.leading as LinkState, call)
  }

  #send(live: LinkState, call: Call): void {
    const { number, session } = call
    const { done } = (this.#session as Session).numbers
    const id = this.#activeLink.nextId()
    this.#activeLink.send(live, call, { kind: 'command', id, session, number, done, body: bodyOf(call) })
  }

  // ---- The session

  /**
   * Stops using a session that may have ended. A session in which a command has no known outcome stays in
   * use.
   */
  #dropStale(): void {
    const session = this.#session
    if (session && session.numbers.span === 0 && session.stale(this.#activeLink.now()))
      this.#session = undefined
  }

  #begin(session: Session): void {
    this.#session = session
    this.#openBytes = 0
    this.#opened()
    this.pump()
  }

  /**
   * Called when no session could be opened. A permanent reason ends all waiting commands. Any other reason
   * becomes the cause of the error that the commands get at their deadline.
   */
  #refused(answer: Answer, never: boolean): void {
    if (answer[0] === 0) return
    const error = errorOf(answer)
    const lasting = judgeCommand(answer, never, false) === 'final' && !error.retryable
    for (const call of this.waiting()) {
      call.refusal = error
      if (lasting) this.#pendingCalls.fail(call, error)
      else this.#queue(call)
    }
  }

  /**
   * Called when the session has ended, or when the store has connected to another cluster. An open command
   * that waits for an answer on an open link continues to wait. Each other open command moves to the next
   * session, or ends with an unknown outcome (#sessionIsOver).
   */
  over(id: number): void {
    const session = this.#session
    if (session?.id !== id) return
    this.#session = undefined
    this.#again = []
    for (const call of session.numbers.open()) if (!call.live) this.#sessionIsOver(call)
    this.pump()
  }

  /**
   * Ends all open commands, because the cluster will send no answer any more. Commands that may have reached
   * a member end with an unknown outcome.
   */
  endSentAsUnknown(reason: LatchkeyError): void {
    for (const call of this.open()) call.finish(reason)
    this.over(this.sessionId ?? 0)
  }

  /**
   * If the call was certainly never executed, the call moves to the next session. Otherwise the call ends
   * with an unknown outcome.
   */
  #sessionIsOver(call: Call): void {
    if (call.uncertain || call.settled) return this.#endUnknown(call)
    call.number = call.session = 0
    this.#queue(call)
  }

  /**
   * Called when a member has refused an attempt because the session is over. The member did not execute this
   * attempt, but an earlier attempt of the call may have been executed.
   */
  #refusedAsOver(call: Call): void {
    // If the store still uses this session, over() handles all open calls of the session, also this call.
    if (this.#session?.id === call.session) return this.over(call.session)
    this.#sessionIsOver(call)
    this.pump()
  }

  #endUnknown(call: Call): void {
    call.finish()
    this.#pendingCalls.fail(call, sessionOver())
  }

  // ---- Answers

  received(live: LinkState, call: Call, reply: AnswerReply): void {
    if (call.live !== live || call.id !== reply.id) return this.#late(live, call, reply)
    const answer = this.#activeLink.received(live, call, reply)
    if (call.role !== 'user') return this.#upkeep.received(call, answer, reply.never)
    switch (judgeCommand(answer, reply.never, call.uncertain)) {
      case 'final':
        return this.#final(call, answer)
      case 'over':
        return this.#refusedAsOver(call)
      case 'uncertain':
        call.uncertain = true
        return this.#retry(call, answer)
      case 'again':
        this.#full ||= answer[0] === SESSION_FULL
        return this.#retry(call, answer)
    }
  }

  /**
   * Takes the answer to an attempt on a link that the store has left, while another attempt is under way or
   * will be sent. A final answer is used. Any other answer says nothing about the newer attempt, and is
   * ignored.
   */
  #late(live: LinkState, call: Call, reply: AnswerReply): void {
    const answer = this.#activeLink.late(live, call, reply)
    if (call.finished || judgeCommand(answer, reply.never, true) !== 'final') return
    this.#activeLink.leave(call)
    this.#final(call, answer)
  }

  #final(call: Call, answer: Answer): void {
    this.#activeLink.wentWell()
    if (call.sentAt && this.#session?.id === call.session) this.#session.touch(call.sentAt)
    this.#finishNumber(call)
    this.#pendingCalls.answer(call, answer)
    if (this.#fresh.length > 0) this.pump()
  }

  #finishNumber(call: Call): void {
    if (call.finished) return
    if (this.#session?.id === call.session) {
      this.#session.numbers.finish(call.number)
      this.#openBytes -= bodyOf(call).length
    }
    call.finish()
    if (this.#fresh.length > 0) this.pump()
  }

  #retry(call: Call, answer: Answer): void {
    call.refusal = errorOf(answer)
    this.#wait(call)
    this.#activeLink.later()
  }

  /**
   * Plans to send the call again if its caller still waits. If the caller has left and the outcome is
   * unknown, the request that cancels the call's number will show the outcome. If the call certainly was not
   * executed, its number is finished now.
   */
  #wait(call: Call): void {
    if (call.finished) return
    if (call.session !== this.#session?.id) this.#sessionIsOver(call)
    else if (!call.abandoned) this.#again.push(call)
    else if (!call.uncertain) this.#finishNumber(call)
  }

  lost(call: Call): void {
    call.live = undefined
    if (call.role !== 'user') return this.#upkeep.lost(call)
    call.uncertain = true
    this.#wait(call)
  }

  /**
   * Called when the store has left the link on which the command was sent. A command of a caller is sent
   * again while its session is open, and an answer on the old link is still valid.
   */
  left(live: LinkState, call: Call): void {
    if (call.role !== 'user') {
      live.inflight.delete(call.id)
      return this.lost(call)
    }
    // If the session of this call is over, the call is not sent again. The answer may still arrive on the old
    // link.
    if (call.session !== this.#session?.id) return
    this.#activeLink.leave(call)
    call.uncertain = true
    this.#wait(call)
  }

  // ---- Callers that leave

  gaveUp(call: Call): void {
    if (call.number === 0) {
      this.#freshBytes -= bodyOf(call).length
      return this.#fresh.forget((other) => other.settled)
    }
    if (!call.mayHaveReachedMember) return this.#finishNumber(call)
    call.abandoned = true
    this.#upkeep.cancel(call)
  }

  // ---- The end

  waiting(): Call[] {
    this.#freshBytes = 0
    return this.#fresh.takeAll().filter((call) => !call.settled)
  }

  open(): Call[] {
    return this.#session ? [...this.#session.numbers.open()] : []
  }

  close(): void {
    this.#upkeep.close()
  }
}

const bodyOf = ({ payload }: Call): Uint8Array => (payload as { readonly body: Uint8Array }).body
