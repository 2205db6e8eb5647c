// Driver: sends the requests that a session itself needs. These requests open the session, keep it alive,
// close it, and cancel calls whose callers no longer wait. These requests have no call number. Each request
// may be executed twice without harm, and is sent again if its outcome is unknown.

import { type Answer, type Command, OP, SESSION_OVER, encodeCommand } from '@latchkey/protocol'
import { Call, type LinkState } from './call.js'
import type { ActiveLink } from './shared-by-all-calls.js'
import { KeepAlive } from './session-keep-alive.js'
import { Session } from './session.js'

interface SessionUpkeepPorts {
  readonly session: () => Session | undefined
  opened(session: Session): void
  refused(answer: Answer, never: boolean): void
  over(session: number): void
  /** Called when it is certain that the members will not execute the call `target` later. */
  ended(target: Call): void
}

export class SessionUpkeep {
  readonly keep: KeepAlive
  readonly #activeLink: ActiveLink
  readonly #port: SessionUpkeepPorts
  readonly #life: number
  /** Calls whose callers no longer wait, and whose numbers must be cancelled. */
  #left: Call[] = []
  #opening: Call | undefined

  constructor(activeLink: ActiveLink, life: number, port: SessionUpkeepPorts) {
    this.#activeLink = activeLink
    this.#life = life
    this.#port = port
    this.keep = new KeepAlive(activeLink, port.session, () => this.#keepAlive())
  }

  // ---- Sending requests

  /**
   * Opens a session. If the answer is lost, the opened session ends by itself. So the request may be sent
   * again without harm.
   */
  open(live: LinkState): void {
    if (this.#opening) return
    this.#opening = this.#send(live, 'open', 0, [OP.openSession, this.#life])
  }

  cancel(target: Call): void {
    this.#left.push(target)
    this.pump()
  }

  pump(): void {
    const live = this.#activeLink.leading
    const session = this.#port.session()
    if (!live || this.#left.length === 0) return
    for (const target of this.#left.splice(0)) {
      if (target.finished) continue
      if (session?.id !== target.session) this.#port.ended(target)
      else this.#send(live, 'cancel', session.id, [OP.cancelCall, target.number], target)
    }
  }

  /**
   * Ends the session. This store's waiters leave the queues of locks. Locks that this store holds stay held.
   * The store does not wait for the answer.
   */
  close(): void {
    this.keep.stop()
    const live = this.#activeLink.leading
    const session = this.#port.session()
    if (live && session) this.#send(live, 'close', session.id, [OP.closeSession])
  }

  #keepAlive(): boolean {
    const live = this.#activeLink.leading
    const session = this.#port.session()
    if (!live || !session) return false
    this.#send(live, 'keepAlive', session.id, [OP.keepAlive])
    return true
  }

  #send(
    live: LinkState,
    role: Exclude<Call['role'], 'user'>,
    session: number,
    command: Command,
    target?: Call,
  ): Call {
    const body = encodeCommand(command)
    const call = new Call({ what: 'command', body }, nothing, nothing, nothing)
    call.role = role
    call.session = session
    call.target = target
    const done = this.#port.session()?.numbers.done ?? 0
    const id = this.#activeLink.nextId()
    this.#activeLink.send(live, call, {
      kind: 'command',
      id,
      session,
      number: 0,
      done: session === 0 ? 0 : done,
      body,
    })
    return call
  }

  // ---- Receiving answers

  received(call: Call, answer: Answer, never: boolean): void {
    const { role, target } = call
    if (role === 'open') return this.#opened(call, answer, never)
    const kept = answer[0] === 0
    if (kept) this.#touch(call)
    if (role === 'keepAlive') this.keep.ended(kept)
    if (answer[0] === SESSION_OVER) return this.#over(call)
    if (kept) {
      this.#activeLink.wentWell()
      if (target) this.#port.ended(target)
    } else if (target) this.#again(target)
    else if (role === 'keepAlive') this.#activeLink.later()
  }

  #touch({ session, sentAt }: Call): void {
    const current = this.#port.session()
    if (sentAt && current?.id === session) current.touch(sentAt)
  }

  #opened(call: Call, answer: Answer, never: boolean): void {
    this.#opening = undefined
    const [, id] = answer
    if (answer[0] !== 0 || !Number.isSafeInteger(id) || (id as number) <= 0 || !call.sentAt) {
      this.#port.refused(answer, never)
      return this.#activeLink.later()
    }
    this.#activeLink.wentWell()
    this.#port.opened(new Session(id as number, this.#life, call.sentAt))
    this.keep.check()
  }

  #over({ session, target }: Call): void {
    if (target) this.#port.ended(target)
    this.#port.over(session)
  }

  #again(target: Call): void {
    if (target.finished) return
    this.#left.push(target)
    this.#activeLink.later()
  }

  lost(call: Call): void {
    if (call.role === 'open') this.#opening = undefined
    if (call.role === 'keepAlive') this.keep.ended(false)
    if (call.target) this.#again(call.target)
  }
}

const nothing = () => {}
