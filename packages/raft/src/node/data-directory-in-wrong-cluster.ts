// Driver: finds out whether this data directory was started among the members of another cluster. The options
// of this member name other members with their addresses. Here, a member is called unknown if the options
// name it at an address that the log does not have. This member asks each unknown member for its cluster, and
// serves no client before that. If an unknown member belongs to another cluster, this member stops.
//
// Without this check: member a of cluster X is stopped. By a wrong mount, the directory of another cluster Y
// is started at a's address, with X's list of members. Cluster Y has a single member, which is also called a.
// So the member on the wrong directory elects itself, and serves clients of X. Then two clients can hold one
// lock, one in X and one in Y.
//
// The same can happen with two clusters X and Y of three members a, b and c. The directory of c of Y is
// started at the address of c of X, with X's list. The log in this directory has the names of all three
// members, but at other addresses.
//
// Members that have moved look similar: known names at new addresses. But a moved member answers with the id
// of this cluster, or nobody answers yet. So only an answer from another cluster stops this member, and a
// missing answer does not.
//
// Laws (M22)
//   - a member of the options is unknown if neither the log nor this directory has ever had its address. An
//     earlier address of a member is known, because the list in the options is often older than the log.
//   - unknown members are dialled at the addresses of the options. No client is served before each unknown
//     member has answered or has been silent for the time limit.
//   - only an unknown member's own answer stops this member. The answer must come from the dialled address,
//     after the proof of identity. An incoming connection stops no member, because the directory in the wrong
//     place must not stop the members of the right cluster.
//   - a member whose options name a cluster id stops if its log has another cluster id. Such a member never
//     founds a cluster.
//   - a member whose options name only known members asks nobody.

import { type Clock, sameUrl, type Timer } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { membersOf } from '../core/index.js'
import type { MemberId, Membership } from '../core/types.js'
import type { PeerInfo } from '../net/index.js'

/** What a member's data directory stores about its cluster, besides the log. */
export interface DirectoryNote {
  /** When the directory was made, in ISO format. Undefined for a member without a data directory. */
  readonly born: string | undefined
  /** True if `url` is or was the address of member `id` in the directory's cluster. */
  knows(id: MemberId, url: string): boolean
  learn(members: Readonly<Record<MemberId, string>>): void
}

/** For a member without a data directory. */
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
  /** The addresses of the members from this member's options. */
  readonly given: Readonly<Record<MemberId, string>>
  readonly note: DirectoryNote
  /** The id of the only cluster that this member may belong to. Undefined if the options name no cluster. */
  readonly expected: string | undefined
  /** '' while the id is unknown. */
  readonly clusterId: () => string
  readonly clock: Clock
  /** In ms. */
  readonly patience: number
  /** Called once, when this member need not wait for unknown members any more. */
  asked(): void
  stop(error: LatchkeyError): void
}

export class OneCluster {
  readonly #ports: OneClusterPorts
  #unknownMembers: Readonly<Record<MemberId, string>> = {}
  readonly #answers = new Map<MemberId, PeerInfo>()
  #timer: Timer | undefined
  #begun = false
  #isOver = false

  constructor(ports: OneClusterPorts) {
    this.#ports = ports
  }

  get unknownMembers(): Readonly<Record<MemberId, string>> {
    return this.#unknownMembers
  }

  get isAsking(): boolean {
    return !this.#isOver
  }

  /**
   * Called with the membership in force, at the start and after each change. The first call starts the time
   * limit if there are unknown members.
   */
  look(membership: Membership): void {
    const { id, given, note, clock, patience } = this.#ports
    const known = membersOf(membership)
    const isUnknown = ([one, url]: [MemberId, string]) =>
      one !== id && url !== '' && !isAt(membership, one, url) && !note.knows(one, url)
    this.#unknownMembers =
      known.length === 0 ? {} : Object.fromEntries(Object.entries(given).filter(isUnknown))
    note.learn(Object.fromEntries(known.map((one) => [one, membership.peers[one]?.url ?? ''])))
    if (!this.#begun && Object.keys(this.#unknownMembers).length > 0)
      this.#timer = clock.after(patience, () => this.#end(), { ref: false })
    this.#begun = true
    this.judge()
  }

  /**
   * Called when the member `id`, which was dialled at `url`, has proved its identity and has admitted or
   * refused this member.
   */
  answered(id: MemberId, url: string, info: PeerInfo): void {
    if (!Object.hasOwn(this.#unknownMembers, id) || this.#unknownMembers[id] !== url) return
    this.#answers.set(id, info)
    this.judge()
  }

  /** Called after each answer, and when this member's cluster gets its id. */
  judge(): void {
    const own = this.#ports.clusterId()
    const { expected } = this.#ports
    if (expected !== undefined && own !== '' && own !== expected)
      return this.#ports.stop(this.#notExpected(`is of cluster ${own}${made(this.#ports.note.born)}`))
    const asked = Object.keys(this.#unknownMembers)
    // An answer without a cluster id counts as no answer yet: that cluster is new, and its members are asked
    // again later.
    const answers = asked.map((id) => this.#answers.get(id)?.clusterId ?? '')
    const others = asked.filter((_, at) => own !== '' && answers[at] !== '' && answers[at] !== own)
    if (others.length > 0) return this.#ports.stop(this.#error(own, others))
    if (own === '' ? asked.length === 0 : answers.every((answer) => answer === own)) this.#end()
  }

  /**
   * Called when this member leads a new cluster that has no id yet. A member whose options name a cluster id
   * must not draw a new id.
   */
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
    const descriptions = others.map((one) => {
      const { clusterId, born } = this.#answers.get(one) as PeerInfo
      const url = this.#unknownMembers[one] as string
      clusters[clusterId] = [...(clusters[clusterId] ?? []), url]
      return `${one} at ${url} is of cluster ${clusterId}${made(born)}`
    })
    return new LatchkeyError(
      'ERR_WRONG_CLUSTER',
      `This directory of ${id} is of cluster ${own}${made(note.born)}, but it was given members of another one: ${descriptions.join('; ')}. If the directory is the wrong one, start ${id} over its own. If it is the right one, give it the members of its own cluster, or none.`,
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
