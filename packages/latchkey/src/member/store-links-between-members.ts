// Driver: owns the links between stores and members (M28). While this member has no contact with the leader,
// its own store sends requests over links to other members. While another member has no contact, the store of
// that member sends requests over links to this member.

import type { Defer, Random } from '@latchkey/base'
import type { Dial } from '@latchkey/client'
import type { LatchkeyError, LinkReply } from '@latchkey/protocol'
import { type MemberId, membersOf, type Replica } from '@latchkey/raft'
import type { ClientConnection } from './client-connection.js'
import { LeaderReach } from './contact-with-leader.js'
import { LinksFromMembers } from './store-links-from-other-members.js'
import { LinksToMembers } from './links-of-own-store-to-other-members.js'
import type { LinkMessage } from './non-raft-member-messages.js'
import type { Identity } from './identity-and-rights.js'

interface MemberLinksPorts {
  readonly replica: Replica
  readonly random: Random
  readonly defer: Defer
  readonly send: (to: MemberId, message: LinkMessage) => boolean
  /** False if this member serves no clients, for example because it was removed. */
  serves(): boolean
  readonly clientConnection: (tell: (reply: LinkReply) => void, identity: Identity) => ClientConnection
  /** Called after each change of `isCutOff`. */
  cutOff(isCutOff: boolean): void
}

export class MemberLinks {
  readonly #ports: MemberLinksPorts
  readonly #reach: LeaderReach
  readonly #to: LinksToMembers
  readonly #from: LinksFromMembers
  #lastLeader: MemberId | undefined

  constructor(ports: MemberLinksPorts) {
    const { send, random, defer } = ports
    this.#ports = ports
    this.#reach = this.#makeReach()
    this.#to = new LinksToMembers({ random: random.fork('links'), send })
    this.#from = new LinksFromMembers({
      defer,
      send,
      refusal: (from) => this.#whyNot(from),
      clientConnection: ports.clientConnection,
    })
  }

  #makeReach(): LeaderReach {
    const { node, transport } = this.#ports.replica
    const { state } = node.raft
    return new LeaderReach(node.options.electionTimeout, () => ({
      leads: state.role === 'leader',
      connected: state.leader !== undefined && transport.connected(state.leader),
      term: state.term,
      clock: state.clock,
      heardAt: state.leaderMessageAt,
    }))
  }

  /** Called after each tick of the election timers. */
  look(): void {
    if (!this.#reach.look()) return
    if (this.isCutOff) this.#from.closeAll(NO_CONTACT)
    this.#ports.cutOff(this.isCutOff)
  }

  /** True if this member has no contact with its leader (contact-with-leader.ts). */
  get isCutOff(): boolean {
    return this.#reach.isCutOff
  }

  leads(leader: MemberId): void {
    this.#lastLeader = leader
  }

  /**
   * The connected members that may have contact with the leader. The last known leader comes last, because
   * this member has lost contact with it.
   */
  others(): readonly MemberId[] {
    const { node, transport } = this.#ports.replica
    const isOther = (id: MemberId) => id !== node.options.id && transport.connected(id)
    const others = membersOf(node.applied.membership).filter(isOther)
    const led = (id: MemberId) => id === this.#lastLeader
    return [...others.filter((id) => !led(id)), ...others.filter(led)]
  }

  dialTo(id: MemberId): Dial {
    return this.#to.dialTo(id)
  }

  #whyNot(from: MemberId): string | undefined {
    if (!this.#reach.isFresh) return NO_CONTACT
    if (!this.#ports.serves()) return 'it serves no clients now'
    const isMember = membersOf(this.#ports.replica.node.applied.membership).includes(from)
    return isMember ? undefined : `its membership does not list ${from}`
  }

  get served(): number {
    return this.#from.count
  }

  receive(from: MemberId, message: LinkMessage): void {
    switch (message.kind) {
      case 'linkOpen':
        this.#tellNotMember(from)
        return this.#from.open(from, message.id)
      case 'linkRequests':
        return this.#from.asked(from, message.id, message.frame)
      case 'linkClose':
        return this.#from.closed(from, message.id)
      case 'linkReplies':
        return this.#to.onFrame(from, message.id, message.frame)
      case 'linkClosed':
        return this.#to.closed(from, message.id, message.reason)
      case 'notMember':
        return this.#ports.replica.reportedNotMember(from, message.index)
    }
  }

  /**
   * Law (M12): a removed member's store learns of the removal, even if the leader has stopped before it sent
   * the removal to that member. Without this law: no member talks to the removed member any more, and its
   * store waits for a leader for ever (the simulator found this with seed 320000870). So a removed member
   * that asks for a link learns of its removal here.
   */
  #tellNotMember(to: MemberId): void {
    const index = this.#ports.replica.missing(to)
    if (index !== undefined) this.#ports.send(to, { kind: 'notMember', index })
  }

  gone(id: MemberId): void {
    this.#to.gone(id)
    this.#from.gone(id)
  }

  close(reason: LatchkeyError): void {
    this.#to.close(reason)
    this.#from.closeAll('it is closed')
  }
}

const NO_CONTACT = 'it does not hear from the leader itself'
