// Driver: a member that was given members which its log does not know, or knows at other addresses, asks there who they are, before it
// serves anybody and for as long as it lives. They may be of another cluster: then this directory is in the wrong place.
//
// The story without it: member a of cluster X is stopped. The directory of a cluster Y of one member, which is called a too, is started at
// its address with X's list of members (a wrong mount, a restored backup). It leads itself, is ready, and serves every client that tries
// this address first: two clients hold one lock, one of them in X and one in Y.
//
// The same with two clusters of three, both of a, b and c: the directory of c of Y at the address of c of X, with X's list. Its log knows
// every name that it was given, at other addresses: by the names alone it meets no stranger, and nobody says what is wrong.
//
// Members that have moved look the same at first: known names at other addresses. Asked, they say that they are of this cluster; or nobody
// is there yet, because they move later. So the answer of another cluster stops a member, and silence does not.
//
// Laws (M22)
//   - a stranger is a member that was given at an address where the log does not know it now, nor this directory has known it
//     before: a list is often older than the log, and names members that were removed or have moved
//   - strangers are dialled at the addresses that were given; nobody is served before each has said who it is, or has been silent for
//     the time that is given to it
//   - only a stranger's answer, from that address and behind its proof, makes this member stop. One who calls, or who only says who
//     he is, makes nobody stop: otherwise the directory in the wrong place would stop the members of the right cluster, and anybody all
//   - who was told which cluster it belongs to is of that one, or stops; it founds no other one
//   - who knows all that it was given asks nobody, and is stopped by nobody

import type { Clock, Timer } from '@latchkey/base'
import { LatchkeyError } from '@latchkey/protocol'
import { membersOf } from '../core/index.js'
import type { MemberId, Membership } from '../core/types.js'
import type { PeerInfo } from '../net/index.js'
import { sameUrl } from './addresses.js'

/** What a directory knows of itself beside its log. */
export interface DirectoryNote {
  /** When it was made, as an ISO date; undefined: it is in memory only. */
  readonly born: string | undefined
  /** Whether that address has been a member's of this directory's cluster. */
  knows(id: MemberId, url: string): boolean
  /** Those are members now. */
  learn(members: Readonly<Record<MemberId, string>>): void
}

/** Of a member without a directory. */
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
  /** Addresses of members, as they were given. */
  readonly given: Readonly<Record<MemberId, string>>
  readonly note: DirectoryNote
  /** The only cluster that it may belong to; undefined: any. */
  readonly expected: string | undefined
  /** '' until it is known. */
  readonly clusterId: () => string
  readonly clock: Clock
  /** ms that a silent stranger is waited for. */
  readonly patience: number
  /** Nobody has to be waited for any more. */
  asked(): void
  stop(error: LatchkeyError): void
}

export class OneCluster {
  readonly #ports: OneClusterPorts
  #strangers: Readonly<Record<MemberId, string>> = {}
  /** What the strangers have said of themselves. */
  readonly #answers = new Map<MemberId, PeerInfo>()
  #timer: Timer | undefined
  #begun = false
  #isOver = false

  constructor(ports: OneClusterPorts) {
    this.#ports = ports
  }

  /** Whom to ask, and where. */
  get strangers(): Readonly<Record<MemberId, string>> {
    return this.#strangers
  }

  /** Somebody has not said yet who it is, and is still waited for. */
  get isAsking(): boolean {
    return !this.#isOver
  }

  /** The members by the log. */
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

  /** One that was dialled there has proved who it is: it has let this member in, or refused it. */
  answered(id: MemberId, url: string, info: PeerInfo): void {
    if (!Object.hasOwn(this.#strangers, id) || this.#strangers[id] !== url) return
    this.#answers.set(id, info)
    this.judge()
  }

  /** Also called when this member's cluster has got its id. */
  judge(): void {
    const own = this.#ports.clusterId()
    const { expected } = this.#ports
    if (expected !== undefined && own !== '' && own !== expected)
      return this.#ports.stop(this.#notExpected(`is of cluster ${own}${made(this.#ports.note.born)}`))
    const asked = Object.keys(this.#strangers)
    // A cluster without an id is being founded just now: that one is asked again.
    const answers = asked.map((id) => this.#answers.get(id)?.clusterId ?? '')
    const others = asked.filter((_, at) => own !== '' && answers[at] !== '' && answers[at] !== own)
    if (others.length > 0) return this.#ports.stop(this.#error(own, others))
    if (own === '' ? asked.length === 0 : answers.every((answer) => answer === own)) this.#end()
  }

  /** It leads members that have no cluster yet. */
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
