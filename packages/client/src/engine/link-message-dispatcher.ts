// Driver: passes on what links report: answers, events, grants, ends of waits and the leader. This class also
// reports that a link was opened, lost or left.

import type { Emitter } from '@latchkey/base'
import type { ClusterTimeBound } from '@latchkey/lock'
import type { LeaderReply, LinkReply, StoreEvents } from '@latchkey/protocol'
import type { ActiveLink } from './shared-by-all-calls.js'
import type { LinkState } from './call.js'
import { leaderEvents, type LinkEvents } from './cluster-events.js'
import type { ExactlyOnceCommands } from './exactly-once-commands.js'
import type { GrantPushes } from './callers-waiting-for-push.js'
import type { ReadsAndAdminCalls } from './reads-and-admin-calls.js'
import type { Watches } from './watches.js'

interface Receivers {
  readonly activeLink: ActiveLink
  readonly commands: ExactlyOnceCommands
  readonly readsAndAdmin: ReadsAndAdminCalls
  readonly watches: Watches
  readonly grants: GrantPushes
  readonly bound: ClusterTimeBound
  readonly events: Emitter<StoreEvents>
  readonly linkEvents: LinkEvents | undefined
}

export class LinkReports {
  readonly #to: Receivers
  readonly #connected: { done: () => void; failed: (error: unknown) => void }[] = []
  #cluster: LeaderReply | undefined
  #lastLeader: string | undefined
  #attached: number | undefined
  /** True if the last connection was lost, and the store has no other connection yet. */
  #isCutOff = false

  constructor(to: Receivers) {
    this.#to = to
  }

  get cluster(): LeaderReply | undefined {
    return this.#cluster
  }

  get leaderless(): LeaderReply | undefined {
    return this.#cluster?.id === undefined ? this.#cluster : undefined
  }

  get lastLeader(): string | undefined {
    return this.#lastLeader
  }

  connected(done: () => void, failed: (error: unknown) => void): void {
    if (this.#to.activeLink.link) done()
    else this.#connected.push({ done, failed })
  }

  active(live: LinkState): void {
    if (this.#isCutOff) this.#to.activeLink.counts.reconnects++
    this.#isCutOff = false
    this.#to.linkEvents?.active(live.url)
    for (const { done } of this.#connected.splice(0)) done()
    this.attach()
    this.#to.watches.resume()
    this.#to.readsAndAdmin.pump()
  }

  failed(error: unknown): void {
    for (const { failed } of this.#connected) failed(error)
  }

  leader(live: LinkState, leader: LeaderReply): void {
    // The cluster's id is empty while the member has not joined its cluster yet.
    if (leader.clusterId !== '') this.#to.bound.setCluster(leader.clusterId)
    // The report of a third member says nothing about the state that an embedded store shows. An embedded
    // store takes this state only from its own member.
    if (live !== this.#to.activeLink.local) return this.resume()
    const before = this.#cluster
    this.#cluster = leader
    this.#lastLeader = leader.id ?? this.#lastLeader
    leaderEvents(before, leader, this.#to.events)
    if (leader.id !== undefined) this.resume()
  }

  resume(): void {
    this.#to.commands.resume()
    this.#to.readsAndAdmin.pump()
    this.#to.watches.resume()
  }

  reply(live: LinkState, reply: Exclude<LinkReply, LeaderReply>): void {
    const { activeLink, commands, readsAndAdmin, watches, grants } = this.#to
    switch (reply.kind) {
      case 'answer': {
        const call = live.inflight.get(reply.id)
        if (!call) return
        if (call.payload.what === 'command') commands.received(live, call, reply)
        else readsAndAdmin.received(live, call, reply)
        return activeLink.closeIfDone(live)
      }
      case 'events':
        for (const id of reply.ids) watches.received(live, id, reply.events, reply.upTo)
        return
      case 'watchOver':
        return watches.over(live, reply.id, reply.answer)
      case 'granted':
        return grants.granted(reply.key, reply.owner)
      case 'ended':
        return grants.ended(reply.ticket[2], reply.result)
    }
  }

  lost(live: LinkState, reason: Error): void {
    const { activeLink, commands, readsAndAdmin, linkEvents } = this.#to
    this.#isCutOff ||= activeLink.link === undefined
    const owed = live.inflight.takeAll()
    for (const call of owed) {
      // A call whose `live` is not this link was already sent again, or already waits to be sent again.
      if (call.live !== live) continue
      if (call.payload.what === 'command') commands.lost(call)
      else readsAndAdmin.lost(call, reason)
    }
    // If another link is active, the store had left the closed link before. No report of the active link
    // would wake the calls that waited for an answer on the closed link, so a timer wakes these calls.
    if (owed.length > 0 && activeLink.link) activeLink.later()
    linkEvents?.lost(live.url, reason)
  }

  /**
   * Called when the store has left this link and uses another link. Each unanswered request is sent again.
   */
  left(live: LinkState): void {
    for (const call of live.inflight.all()) {
      if (call.live !== live) continue
      if (call.payload.what === 'command') this.#to.commands.left(live, call)
      else this.#to.readsAndAdmin.left(call)
    }
  }

  /**
   * Sends the session's id to the member of the active link. Grants and the ends of waits are pushed on the
   * link that has sent the session's id.
   */
  attach(): void {
    const { activeLink, commands, grants } = this.#to
    const session = commands.sessionId
    const link = activeLink.link?.link
    if (session === undefined || !link) return
    link.send({ kind: 'attach', session })
    const before = this.#attached
    this.#attached = session
    if (before !== undefined) grants.attached(before !== session)
  }
}
