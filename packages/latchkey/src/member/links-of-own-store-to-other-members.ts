// Driver: owns the links of this member's own store to other members, while this member has no contact with
// the leader (M28). A link uses the existing connection between the members, so the link needs no further
// proof of identity.

import { copyBytes, microtask, type Random } from '@latchkey/base'
import type { Dial, Link, LinkEvents } from '@latchkey/client'
import { decodeReplies, encodeRequests, LatchkeyError, type LinkRequest } from '@latchkey/protocol'
import type { MemberId } from '@latchkey/raft'
import { firstId, type LinkMessage } from './non-raft-member-messages.js'

interface LinksToMembersPorts {
  /**
   * The numbers must differ after each start of the process, so that no late reply matches a new link (C5).
   */
  readonly random: Random
  readonly send: (to: MemberId, message: LinkMessage) => boolean
}

export class LinksToMembers {
  readonly #ports: LinksToMembersPorts
  readonly #links = new Map<number, LinkToMember>()
  #lastId: number
  #failure: LatchkeyError | undefined

  constructor(ports: LinksToMembersPorts) {
    this.#ports = ports
    this.#lastId = firstId(ports.random)
  }

  get open(): number {
    return this.#links.size
  }

  dialTo(to: MemberId): Dial {
    return (events, signal) =>
      new Promise((resolve, reject) => {
        if (this.#failure !== undefined) return reject(this.#failure)
        const id = ++this.#lastId
        const link = new LinkToMember(id, to, events, {
          send: (message) => this.#ports.send(to, message),
          open: resolve,
          refused: reject,
          over: () => this.#links.delete(id),
        })
        this.#links.set(id, link)
        link.start(signal)
      })
  }

  onFrame(from: MemberId, id: number, frame: Uint8Array): void {
    this.#of(from, id)?.onFrame(frame)
  }

  closed(from: MemberId, id: number, reason: string): void {
    this.#of(from, id)?.end(
      new LatchkeyError(
        'ERR_NO_LEADER',
        `Member ${from} does not forward requests for this member: ${reason}`,
      ),
    )
  }

  /**
   * Undefined if the link does not lead to the member `from`. Another member must not end the link or answer
   * its requests.
   */
  #of(from: MemberId, id: number): LinkToMember | undefined {
    const link = this.#links.get(id)
    return link?.to === from ? link : undefined
  }

  /** Ends the links to the member `to`. The connection to this member has closed, so requests may be lost. */
  gone(to: MemberId): void {
    for (const link of [...this.#links.values()]) if (link.to === to) link.end(unreachable(to))
  }

  close(reason: LatchkeyError): void {
    this.#failure ??= reason
    for (const link of [...this.#links.values()]) link.end(reason)
  }
}

interface LinkPorts {
  send(message: LinkMessage): boolean
  open(link: Link): void
  refused(error: unknown): void
  over(): void
}

class LinkToMember implements Link {
  readonly to: MemberId
  readonly #id: number
  readonly #events: LinkEvents
  readonly #ports: LinkPorts
  #state: 'dialling' | 'open' | 'over' = 'dialling'
  #received = 0

  constructor(id: number, to: MemberId, events: LinkEvents, ports: LinkPorts) {
    this.#id = id
    this.to = to
    this.#events = events
    this.#ports = ports
  }

  start(signal: AbortSignal): void {
    const abort = () => {
      if (this.#state === 'dialling') this.end(signal.reason as Error)
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    this.#say({ kind: 'linkOpen', id: this.#id })
  }

  send(request: LinkRequest): void {
    for (const frame of encodeRequests([request])) this.#say({ kind: 'linkRequests', id: this.#id, frame })
  }

  probe(): void {
    this.#say({ kind: 'linkRequests', id: this.#id, frame: NOTHING })
  }

  received(): number {
    return this.#received
  }

  #say(message: LinkMessage): void {
    if (this.#state !== 'over' && !this.#ports.send(message)) this.#endLater()
  }

  /**
   * Ends the link in a later microtask, because a link (link-interface.ts) must not call its listener inside
   * of `send`.
   */
  #endLater(): void {
    microtask(() => this.end(unreachable(this.to)))
  }

  onFrame(frame: Uint8Array): void {
    this.#received++
    if (this.#state === 'dialling') {
      this.#state = 'open'
      this.#ports.open(this)
    }
    if (frame.length === 0) return
    const replies = decodeReplies(copyBytes(frame))
    if (typeof replies === 'string')
      return this.end(
        new LatchkeyError('ERR_PROTOCOL', `A message of member ${this.to} could not be decoded: ${replies}`),
      )
    for (const reply of replies) if (this.#state !== 'over') this.#events.reply(reply)
  }

  close(): void {
    this.#leave()
  }

  #leave(): 'dialling' | 'open' | 'over' {
    const before = this.#state
    if (before === 'over') return before
    this.#state = 'over'
    this.#ports.over()
    this.#ports.send({ kind: 'linkClose', id: this.#id })
    return before
  }

  /**
   * Ends the link. If the link is not open yet, the promise of `dialTo` rejects with the reason. If the link
   * is open, `closed` of its listener is called with the reason.
   */
  end(reason: Error): void {
    const before = this.#leave()
    if (before === 'dialling') this.#ports.refused(reason)
    else if (before === 'open') this.#events.closed(reason)
  }
}

const NOTHING = new Uint8Array(0)

const unreachable = (id: MemberId) =>
  new LatchkeyError('ERR_NO_LEADER', `Member ${id} cannot be reached any more.`)
