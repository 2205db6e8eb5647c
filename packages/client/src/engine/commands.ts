// Driver: commands, exactly once (docs/locks.md, 6). Owns the session and every number in it.
// Laws:
// - a command gets its number when it is first sent, and keeps number and bytes for ever;
// - one whose attempt has an unknown fate is only ever sent again, same number, same bytes;
// - one whose caller has left while its fate is unknown is cancelled in the background, so that it is not executed later;
// - one that was never handed on may wait, move to another session, or end as not applied.

import { type Answer, type AnswerReply, LatchkeyError, SESSION_FULL, errorOf } from '@latchkey/protocol'
import type { Call, Live } from './call.js'
import { SessionUpkeep } from './session-upkeep.js'
import type { PendingCalls } from './pending-calls.js'
import { judgeCommand, sessionOver } from './outcomes.js'
import type { ActiveLink } from './active-link.js'
import { Queue } from './fifo-queue.js'
import type { Session } from './session.js'

/** Waiting for a number or a leader: ERR_BUSY beyond. */
const WAITING = 65_536
const WAITING_BYTES = 64 * 1024 * 1024
/** Of bodies that have a number and no answer: the rest waits. */
const OPEN_BYTES = 32 * 1024 * 1024
/** Sent again at once into a session that was full. */
const FEW = 4

export class Commands {
  readonly #activeLink: ActiveLink
  readonly #pendingCalls: PendingCalls
  readonly #upkeep: SessionUpkeep
  readonly #opened: () => void
  /** Never sent: no number yet. */
  readonly #fresh = new Queue<Call>()
  #freshBytes = 0
  #openBytes = 0
  /** Have a number, and wait to be sent again. */
  #again: Call[] = []
  /** Something in #again was refused because the session keeps as many answers as it may. */
  #full = false
  #session: Session | undefined
  #barriers = 0

  /** `opened`: there is another session than before. */
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

  /** Somebody waits for what may come without having been asked for: a grant. */
  get awaits(): boolean {
    return this.#upkeep.keep.inUse
  }

  get sessionId(): number | undefined {
    return this.#session?.id
  }

  /** Is there no number for a new command? */
  get crowded(): boolean {
    return this.#session !== undefined && !this.#session.numbers.room
  }

  // ---- in

  submit(call: Call): void {
    if (this.#fresh.length === 0 && this.#sendable()) return this.#number(call)
    if (this.#fresh.length >= WAITING || this.#freshBytes + bodyOf(call).length > WAITING_BYTES)
      return this.#pendingCalls.tell(call, new LatchkeyError('ERR_BUSY'))
    this.#queue(call)
    this.pump()
  }

  #queue(call: Call): void {
    this.#fresh.push(call)
    this.#freshBytes += bodyOf(call).length
  }

  /** The session must live on although nothing is sent: somebody waits in a queue. Returns the end of that. */
  use(): () => void {
    const end = this.#upkeep.keep.use()
    this.pump()
    return end
  }

  /** New commands wait until the returned function was called. */
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

  // ---- out

  /** A new link or leader, or the pause is over: first what was sent before, in its order. */
  resume(): void {
    const live = this.#activeLink.leading
    if (live && this.#again.length > 0) this.#sendAgain(live)
    this.#upkeep.pump()
    this.pump()
    this.#upkeep.keep.check()
  }

  /** Into a session that was full only a few at a time: most of them would come back refused, and each is the whole command. */
  #sendAgain(live: Live): void {
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
    this.#send(this.#activeLink.leading as Live, call)
  }

  #send(live: Live, call: Call): void {
    const { number, session } = call
    const { done } = (this.#session as Session).numbers
    const id = this.#activeLink.nextId()
    this.#activeLink.send(live, call, { kind: 'command', id, session, number, done, body: bodyOf(call) })
  }

  // ---- the session

  /** One that may be over is not gone on with, unless something sent in it is still open: that comes first. */
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

  /** No session, no commands: a reason that will not pass ends those that wait; any other is remembered for their deadline. */
  #refused(answer: Answer, never: boolean): void {
    if (answer[0] === 0) return
    const error = errorOf(answer)
    const lasting = judgeCommand(answer, never, false) === 'final' && !error.retryable
    for (const call of this.waiting()) {
      call.refusal = error
      if (lasting) this.#pendingCalls.tell(call, error)
      else this.#queue(call)
    }
  }

  /** It has ended, or another cluster was met: what was sent in it stays unknown, unless its answer is still on its way. */
  over(id: number): void {
    const session = this.#session
    if (session?.id !== id) return
    this.#session = undefined
    this.#again = []
    for (const call of session.numbers.open()) if (!call.live) this.#outlived(call)
    this.pump()
  }

  /** No answer comes from the cluster any more: whether what was sent is done will not be known here, now or later. */
  strand(reason: LatchkeyError): void {
    for (const call of this.open()) call.finish(reason)
    this.over(this.sessionId ?? 0)
  }

  /** Its session is over. Where it was certainly never handed on, it goes on under the next one. */
  #outlived(call: Call): void {
    if (call.uncertain || call.settled) return this.#endUnknown(call)
    call.number = call.session = 0
    this.#queue(call)
  }

  /** This copy was not executed. If it was the only one, the call goes on under the next session; an earlier one may have been. */
  #refusedAsOver(call: Call): void {
    // This call is among those that are open in it.
    if (this.#session?.id === call.session) return this.over(call.session)
    this.#outlived(call)
    this.pump()
  }

  #endUnknown(call: Call): void {
    call.finish()
    this.#pendingCalls.tell(call, sessionOver())
  }

  // ---- answers

  received(live: Live, call: Call, reply: AnswerReply): void {
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

  /** To an attempt on a link that was left, while another one is under way or due: only the command's own answer says something. */
  #late(live: Live, call: Call, reply: AnswerReply): void {
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

  /** Its attempt is over without an answer of its own. Of an abandoned one only its cancel will tell, or nothing need be told. */
  #wait(call: Call): void {
    if (call.finished) return
    if (call.session !== this.#session?.id) this.#outlived(call)
    else if (!call.abandoned) this.#again.push(call)
    else if (!call.uncertain) this.#finishNumber(call)
  }

  /** The link on which it was asked is gone. */
  lost(call: Call): void {
    call.live = undefined
    if (call.role !== 'user') return this.#upkeep.lost(call)
    call.uncertain = true
    this.#wait(call)
  }

  /** The link on which it was asked was left: it is asked again, and what comes there all the same counts. */
  left(live: Live, call: Call): void {
    if (call.role !== 'user') {
      live.inflight.delete(call.id)
      return this.lost(call)
    }
    // Of a session that is over: only that link may still have an answer.
    if (call.session !== this.#session?.id) return
    this.#activeLink.leave(call)
    call.uncertain = true
    this.#wait(call)
  }

  // ---- callers that leave

  gaveUp(call: Call): void {
    if (call.number === 0) {
      this.#freshBytes -= bodyOf(call).length
      return this.#fresh.forget((other) => other.settled)
    }
    if (!call.handedOn) return this.#finishNumber(call)
    call.abandoned = true
    this.#upkeep.cancel(call)
  }

  // ---- the end

  /** Calls that were never sent. They wait here no longer. */
  waiting(): Call[] {
    this.#freshBytes = 0
    return this.#fresh.takeAll().filter((call) => !call.settled)
  }

  /** Calls that have a number and are not finished. */
  open(): Call[] {
    return this.#session ? [...this.#session.numbers.open()] : []
  }

  close(): void {
    this.#upkeep.close()
  }
}

const bodyOf = ({ payload }: Call): Uint8Array => (payload as { readonly body: Uint8Array }).body
