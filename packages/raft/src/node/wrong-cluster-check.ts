// Driver: finds out whether this directory was started in the wrong cluster. It asks given members that the
// log does not know, or knows at other addresses, which cluster they are of. This member serves no client
// before it has asked, and continues to ask as long as it runs. If they are of another cluster, this
// directory is in the wrong place.
//
// Without this: member a of cluster X is stopped. The directory of a cluster Y with one member, which is also
// called a, is started at a's address with X's list of members (a wrong mount, a restored backup). This
// member leads itself, is ready, and serves every client that tries this address first. Then two clients hold
// one lock, one of them in X and one in Y.
//
// The same can happen with two clusters of three members, both with a, b and c: the directory of c of Y is
// started at the address of c of X, with X's list. Its log knows every given name, at other addresses. So
// every name is known, and no log says what is wrong.
//
// Members that have moved look the same at first: known names at other addresses. Such a member answers that
// it is of this cluster. If it moves later, no process answers at the address yet. So an answer from another
// cluster stops this member, and silence does not.
//
// Laws (M22)
//   - a stranger is a member that was given at an address where neither the log knows it now nor this
//     directory knew it before. A list is often older than the log, and names members that were
//     removed or have moved
//   - strangers are dialled at the given addresses. No client is served before each stranger has answered, or
//     has been silent for the time limit
//   - this member stops only because of a stranger's own answer, from the given address and after its proof.
//     An incoming connection, or a claim without a proof, stops no member. Otherwise the directory in the
//     wrong place would stop the members of the right cluster, and any stranger could stop all members
//   - a member whose options name a cluster id is of that cluster, or stops. It founds no other cluster
//   - a member that knows all given members asks none of them, and none of them stops it

import type { Clock, Timer } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { membersOf } from '../core/index.js'
import type { MemberId, Membership } from '../core/types.js'
import type { PeerInfo } from '../net/index.js'
import { sameUrl } from './member-addresses.js'

/** What a directory knows about its cluster in addition to the log. */
export interface DirectoryNote {
  /** The date when the directory was made, in ISO format. Undefined if the member has no directory. */
  readonly born: string | undefined
  /** True if that address was the address of member `id` in the cluster of this directory. */
  knows(id: MemberId, url: string): boolean
  /** Records the current members and their addresses. */
  learn(members: Readonly<Record<MemberId, string>>): void
}

/** The note of a member without a directory. */
export function noteInMemory(): DirectoryNote {
  const known = new Set<string>()
  return {
    born: undefined,
    knows: (id, url) => known.has(`${id} ${url}`),
    learn: (members) => {
      for (const [id, url] of Object.entries(members)) known.add(`${id} ${url}`)
    },
  }
}

export interface OneClusterPorts {
  readonly id: MemberId
  /** The addresses of members in this member's options. */
  readonly given: Readonly<Record<MemberId, string>>
  readonly note: DirectoryNote
  /** The only cluster that this member may belong to. Undefined if this member may belong to any cluster. */
  readonly expected: string | undefined
  /** '' until the id is known. */
  readonly clusterId: () => string
  readonly clock: Clock
  /** In ms, how long this member waits for a silent stranger. */
  readonly patience: number
  /** Called when this member need not wait for strangers any more. */
  asked(): void
  stop(error: LatchkeyError): void
}

export class OneCluster {
  readonly #ports: OneClusterPorts
  #strangers: Readonly<Record<MemberId, string>> = {}
  /** The descriptions that the strangers have sent. */
  readonly #answers = new Map<MemberId, PeerInfo>()
  #timer: Timer | undefined
  #begun = false
  #isOver = false

  constructor(ports: OneClusterPorts) {
    this.#ports = ports
  }

  /** The members to ask, and their addresses. */
  get strangers(): Readonly<Record<MemberId, string>> {
    return this.#strangers
  }

  /** True while this member waits for the answer of a stranger. */
  get isAsking(): boolean {
    return !this.#isOver
  }

  /** Called with the members of the log. */
  look(membership: Membership): void {
    const { id, given, note, clock, patience } = this.#ports
    const known = membersOf(membership)
    const isStranger = ([one, url]: [MemberId, string]) =>
      one !== id && url !== '' && !isAt(membership, one, url) && !note.knows(one, url)
    this.#strangers = known.length === 0 ? {} : Object.fromEntries(Object.entries(given).filter(isStranger))
    note.learn(Object.fromEntries(known.map((one) => [one, membership.peers[one]?.url ?? ''])))
    if (!this.#begun && Object.keys(this.#strangers).length > 0)
      this.#timer = clock.after(patience, () => this.#end(), { ref: false })
    this.#begun = true
    this.judge()
  }

  /**
   * Called when a member that was dialled at that address has proved its identity. That member has admitted
   * this member or refused it.
   */
  answered(id: MemberId, url: string, info: PeerInfo): void {
    if (!Object.hasOwn(this.#strangers, id) || this.#strangers[id] !== url) return
    this.#answers.set(id, info)
    this.judge()
  }

  /**
   * Compares this member's cluster with the clusters in the answers. Also called when this cluster gets its
   * id.
   */
  judge(): void {
    const own = this.#ports.clusterId()
    const { expected } = this.#ports
    if (expected !== undefined && own !== '' && own !== expected)
      return this.#ports.stop(this.#notExpected(`is of cluster ${own}${made(this.#ports.note.born)}`))
    const asked = Object.keys(this.#strangers)
    // A cluster without an id is being founded at this moment, so it is asked again later.
    const answers = asked.map((id) => this.#answers.get(id)?.clusterId ?? '')
    const others = asked.filter((_, at) => own !== '' && answers[at] !== '' && answers[at] !== own)
    if (others.length > 0) return this.#ports.stop(this.#error(own, others))
    if (own === '' ? asked.length === 0 : answers.every((answer) => answer === own)) this.#end()
  }

  /** Called when this member leads a group that has no cluster id yet. */
  refuseToFound(): void {
    this.#ports.stop(this.#notExpected('is of no cluster yet, and would found one'))
  }

  #notExpected(what: string): LatchkeyError {
    const { id, expected } = this.#ports
    return new LatchkeyError(
      'ERR_WRONG_CLUSTER',
      `This directory of ${id} ${what}, but clusterId (--cluster-id) asks for ${expected}. Check the directory, or leave clusterId out.`,
    )
  }

  #error(own: string, others: readonly MemberId[]): LatchkeyError {
    const { id, given, note } = this.#ports
    const clusters: Record<string, string[]> = { [own]: given[id] === undefined ? [] : [given[id]] }
    const told = others.map((one) => {
      const { clusterId, born } = this.#answers.get(one) as PeerInfo
      const url = this.#strangers[one] as string
      clusters[clusterId] = [...(clusters[clusterId] ?? []), url]
      return `${one} at ${url} is of cluster ${clusterId}${made(born)}`
    })
    return new LatchkeyError(
      'ERR_WRONG_CLUSTER',
      `This directory of ${id} is of cluster ${own}${made(note.born)}, but it was given members of another one: ${told.join('; ')}. If the directory is the wrong one, start ${id} over its own. If it is the right one, give it the members of its own cluster, or none.`,
      { clusters },
    )
  }

  #end(): void {
    this.close()
    if (this.#isOver) return
    this.#isOver = true
    this.#ports.asked()
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}

const isAt = ({ peers }: Membership, id: MemberId, url: string): boolean =>
  peers[id] !== undefined && sameUrl(peers[id].url, url)

const made = (born: string | undefined): string => (born === undefined ? '' : ` (its directory made ${born})`)
