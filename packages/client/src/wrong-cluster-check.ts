// Driver: makes sure that a remote store uses one cluster only. The class wraps the function `dial`, with
// which the store opens connections to members.
//
// Without this check: a client gets the addresses of the members n1, n2 and n3 of cluster X. At the address
// of n1 somebody has started a member of another cluster Y. A client that tries n1 first is served by Y, and
// other clients are served by X. So two clients hold the same lock.
//
// Laws (C30: a client is never served by one of two clusters, whichever answers first):
//   - the first member that answers reports its cluster's id and members. The store asks each given address
//     that is not among these members for its cluster, before it sends a request to the first member. If one
//     of the asked addresses is of another cluster, the store cannot know which cluster was meant. So the
//     store fails with ERR_WRONG_CLUSTER and the addresses of both clusters;
//   - a dead address hardly delays a client: the store skips an address that refuses the connection
//     immediately, and skips an address that does not answer within ASK_MS. The store asks skipped addresses
//     again later, and fails if a skipped address is of another cluster;
//   - if the cluster is known and an address proves to be of another cluster, the store does not use the
//     address and logs a warning;
//   - if the caller has given the id of the right cluster (clusterId), the cluster is known from the start.
//     The store fails with ERR_WRONG_CLUSTER when all given addresses have proved to be of other clusters;
//   - if all given addresses are members of the first member's cluster, no address is asked.

import { canonicalUrl, elementAt, type Clock, type Logger, onAbort, type Timer } from '@latchkey/base'
import { isLatchkeyError, LatchkeyError, type LinkReply, type MemberTuple } from '@latchkey/protocol'
import type { Dial, Link, LinkEvents } from './link-interface.js'

/**
 * The id of the cluster to which a socket must lead. If the id is undefined, the socket accepts any cluster
 * and writes the id of that cluster into this object.
 */
interface Identity {
  clusterId: string | undefined
}

export interface OneClusterPorts {
  readonly clock: Clock
  readonly logger: Logger
  /** The addresses that were given. */
  readonly seeds: readonly string[]
  /**
   * The id of the right cluster. If the id is undefined, the first cluster that answers is the right cluster.
   */
  readonly expected: string | undefined
  /** Opens one socket, which writes the id of its cluster into `identity`. */
  readonly dial: (url: string, identity: Identity) => Dial
}

/** In ms, how long the store waits for the answer of an address before it skips the address. */
export const ASK_MS = 400
const LEAST_PAUSE = 1_000
const MOST_PAUSE = 30_000

type ClusterIdOrError = { readonly clusterId: string } | { readonly error: unknown }

export class OneCluster {
  readonly #ports: OneClusterPorts
  readonly #identity: Identity
  readonly #met = new Map<string, string>()
  /** Links that must end if the given addresses prove to be of two clusters. */
  readonly #links = new Map<Link, LinkEvents>()
  readonly #warned = new Set<string>()
  readonly #timers = new Set<Timer>()
  readonly #closing = new AbortController()
  #failure: LatchkeyError | undefined

  constructor(ports: OneClusterPorts) {
    this.#ports = ports
    this.#identity = { clusterId: ports.expected }
  }

  dialTo(url: string): Dial {
    return (events, signal) => {
      if (this.#failure !== undefined) return Promise.reject(this.#failure)
      return this.#identity.clusterId === undefined
        ? this.#dialFirst(url, events, signal)
        : this.#dialKnown(url, events, signal)
    }
  }

  close(): void {
    this.#closing.abort(new LatchkeyError('ERR_CLOSED'))
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
    this.#links.clear()
  }

  // ---- The cluster is known

  async #dialKnown(url: string, events: LinkEvents, signal: AbortSignal): Promise<Link> {
    try {
      return await this.#open(url, this.#identity, events, signal)
    } catch (error) {
      if (!isLatchkeyError(error, 'ERR_WRONG_CLUSTER')) throw error
      throw await this.#foreign(url, error)
    }
  }

  async #foreign(url: string, error: LatchkeyError): Promise<LatchkeyError> {
    const found = await this.#ask(url)
    const own = this.#identity.clusterId as string
    const id = 'clusterId' in found ? found.clusterId : undefined
    // The address refused the first connection because of its cluster, and now reports the right cluster. So
    // the server at the address was replaced between the two connections.
    if (id === own) return error
    // Usually the two clusters have different names. Then the member reports no cluster id, and `error` says
    // why the member refused the connection.
    if (id === undefined) return this.#warn(url, undefined, error)
    this.#met.set(url, id)
    const message = `${url} is of cluster ${id}, not of ${own}: it was founded or restored apart. Check the address, and the directory that is used there; connect again to use the other cluster.`
    const foreign = new LatchkeyError('ERR_WRONG_CLUSTER', message, { clusters: this.#clusters(own) })
    this.#warn(url, id, foreign)
    const isForeign = (seed: string) => (this.#met.get(seed) ?? own) !== own
    return this.#ports.seeds.every(isForeign)
      ? foreign
      : new LatchkeyError('ERR_NO_LEADER', message, { cause: foreign })
  }

  #warn(url: string, clusterId: string | undefined, error: LatchkeyError): LatchkeyError {
    const key = `${url} ${clusterId}`
    if (!this.#warned.has(key)) {
      this.#warned.add(key)
      const fields = { url, clusterId, expected: this.#identity.clusterId, reason: error.message }
      this.#ports.logger.warn('an address belongs to another cluster and is not used', fields)
    }
    return error
  }

  // ---- The first cluster that answers

  async #dialFirst(url: string, events: LinkEvents, signal: AbortSignal): Promise<Link> {
    const own: Identity = { clusterId: undefined }
    let told: (members: readonly MemberTuple[]) => void = () => {}
    const members = new Promise<readonly MemberTuple[]>((resolve) => {
      told = resolve
    })
    const replied = (reply: LinkReply) => {
      events.reply(reply)
      if (reply.kind === 'leader' && own.clusterId !== undefined) told(reply.members)
    }
    const link = await this.#open(url, own, { ...events, reply: replied }, signal)
    const check = members.then((list) => this.#check(url, own.clusterId as string, list))
    // A cluster that is being founded has no id yet. The store uses the link, and checks the clusters of the
    // given addresses later, as soon as this cluster has an id.
    if (own.clusterId === undefined) {
      check.catch((error: LatchkeyError) => this.#fail(error))
      return link
    }
    // During the check the link is not in #links, because `#fail` reports the end of each link in #links. The
    // caller has no link yet: if the check fails, this function closes the link and rejects.
    this.#links.delete(link)
    try {
      await unlessAborted(check, signal)
    } catch (error) {
      link.close()
      throw error
    }
    this.#links.set(link, events)
    return link
  }

  async #check(url: string, clusterId: string, members: readonly MemberTuple[]): Promise<void> {
    this.#met.set(url, clusterId)
    const known = new Set([url, ...members.map(([, one]) => one)].map(canonicalUrl))
    const others = this.#ports.seeds.filter((seed) => !known.has(canonicalUrl(seed)))
    const found = await Promise.all(others.map((other) => this.#ask(other)))
    const silent = others.filter((other, i) => !this.#note(other, elementAt(found, i)))
    const foreign = others.filter((other) => (this.#met.get(other) ?? clusterId) !== clusterId)
    if (foreign.length > 0) throw this.#fail(this.#two(clusterId))
    const pinned = this.#identity.clusterId
    // While this dial was under way, the check of another address may have succeeded. The cluster of that
    // other address is then the store's cluster, and this address is refused if its cluster is different.
    if (pinned !== undefined && pinned !== clusterId) throw this.#warn(url, clusterId, this.#two(pinned))
    this.#identity.clusterId = clusterId
    for (const one of silent) this.#askLater(one, LEAST_PAUSE)
  }

  #note(url: string, found: ClusterIdOrError): boolean {
    if (!('clusterId' in found)) return false
    this.#met.set(url, found.clusterId)
    return true
  }

  #askLater(url: string, pause: number): void {
    const { clock } = this.#ports
    const timer = clock.after(
      pause,
      () => {
        this.#timers.delete(timer)
        void this.#askAgain(url, pause)
      },
      { ref: false },
    )
    this.#timers.add(timer)
  }

  async #askAgain(url: string, pause: number): Promise<void> {
    const found = await this.#ask(url)
    if (this.#closing.signal.aborted) return
    if (!this.#note(url, found)) return this.#askLater(url, Math.min(MOST_PAUSE, pause * 2))
    const own = this.#identity.clusterId as string
    if (this.#met.get(url) !== own) this.#fail(this.#two(own))
  }

  /** Asks an address for its cluster over a separate connection, for at most ASK_MS. */
  async #ask(url: string): Promise<ClusterIdOrError> {
    const stop = new AbortController()
    const late = new LatchkeyError('ERR_TIMEOUT', `${url} did not say in time which cluster it is of.`)
    const timer = this.#ports.clock.after(ASK_MS, () => stop.abort(late), { ref: false })
    const identity: Identity = { clusterId: undefined }
    const events = { reply: () => {}, closed: () => {}, memberRemoved: () => {} }
    // This code does not use AbortSignal.any(), because Node keeps the signal of AbortSignal.any() in memory
    // while the signal has a listener. A dial that never ends would then keep the whole store in memory.
    const off = onAbort(this.#closing.signal, () => stop.abort(this.#closing.signal.reason))
    if (this.#closing.signal.aborted) stop.abort(this.#closing.signal.reason)
    try {
      const link = await this.#ports.dial(url, identity)(events, stop.signal)
      link.close()
      const { clusterId } = identity
      return clusterId === undefined ? { error: late } : { clusterId }
    } catch (error) {
      return { error }
    } finally {
      off()
      timer.cancel()
    }
  }

  // ---- Two clusters

  #clusters(first: string): Record<string, string[]> {
    const clusters: Record<string, string[]> = { [first]: [] }
    for (const [url, id] of this.#met) clusters[id] = [...(clusters[id] ?? []), url]
    return clusters
  }

  #two(own: string): LatchkeyError {
    const clusters = this.#clusters(own)
    const told = Object.entries(clusters).map(([id, urls]) => `${id}: ${urls.join(', ')}`)
    return new LatchkeyError(
      'ERR_WRONG_CLUSTER',
      `The addresses that were given belong to ${told.length} clusters (${told.join('; ')}). Give those of one cluster, or say with clusterId which one is right; and check the directory of the member that should not be there.`,
      { clusters },
    )
  }

  /** Ends the store, because the store cannot know which of the two clusters was meant. */
  #fail(error: LatchkeyError): LatchkeyError {
    if (this.#failure !== undefined) return this.#failure
    this.#failure = error
    this.#ports.logger.error('the addresses belong to different clusters', {
      clusters: error.clusters,
      error: error.message,
    })
    const links = [...this.#links]
    this.close()
    for (const [link, events] of links) {
      link.close()
      events.closed(error)
    }
    return error
  }

  // ---- Sockets

  async #open(url: string, identity: Identity, events: LinkEvents, signal: AbortSignal): Promise<Link> {
    let made: Link | undefined
    const closed = (reason: Error) => {
      if (made !== undefined) this.#links.delete(made)
      events.closed(reason)
    }
    const reply = (one: LinkReply) => events.reply(one)
    const memberRemoved = (reason: LatchkeyError | undefined) => events.memberRemoved(reason)
    const socket = await this.#ports.dial(url, identity)({ reply, closed, memberRemoved }, signal)
    const link: Link = {
      send: (request) => socket.send(request),
      ...(socket.received === undefined ? {} : { received: () => socket.received?.() ?? 0 }),
      ...(socket.probe === undefined ? {} : { probe: () => socket.probe?.() }),
      close: () => {
        this.#links.delete(link)
        socket.close()
      },
    }
    made = link
    this.#links.set(link, events)
    return link
  }
}

function unlessAborted<T>(what: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error)
    const off = onAbort(signal, () => reject(signal.reason as Error))
    what.then(resolve, reject).finally(off)
  })
}
