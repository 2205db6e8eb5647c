// Driver: the simulated network between stores and members. The network connects a store with a member and
// carries their messages.

import type { Random } from '@latchkey/base'
import type { Dial, Link, LinkEvents } from '@latchkey/client'
import {
  decodeReplies,
  decodeRequests,
  encodeReplies,
  encodeRequests,
  LatchkeyError,
  type LinkReply,
  type LinkRequest,
} from '@latchkey/protocol'
import {
  type ConnectionOptions,
  type Cuts,
  type Host,
  type HostProcess,
  MemoryConnection,
  type Timeline,
} from '@latchkey/raft/memory'

/** What the clients use of a member. */
export interface ServingMember {
  readonly id: string
  readonly host: Host
  /** True while the member's process runs. */
  readonly isUp: boolean
  /** False if the member refuses clients, for example because it was removed. */
  readonly serves: boolean
  /** Empty until the member knows the id of its cluster. */
  readonly clusterId: string
  clientConnection(tell: (reply: LinkReply) => void): ClientConnection
  /**
   * Calls `run` when the member has ended. `silent` is true if the member's whole machine has ended. Then the
   * connections do not close, and the clients notice only the silence.
   */
  onGone(run: (silent: boolean) => void): void
}

interface ClientConnection {
  send(request: LinkRequest): void
  close(): void
}

interface ClientNetworkOptions extends ConnectionOptions {
  /** True if each message is encoded to bytes and decoded again, as on a real connection. */
  readonly encoded: boolean
  /** Undefined means the encoding of the present protocol. */
  readonly codec?: FrameCodec
  /** In microseconds. The shortest and the longest time until a connection is accepted or refused. */
  readonly dialling: readonly [number, number]
}

interface FrameCodec {
  readonly encodeRequests: typeof encodeRequests
  readonly decodeRequests: typeof decodeRequests
  readonly encodeReplies: typeof encodeReplies
  readonly decodeReplies: typeof decodeReplies
}

/** Implemented by the simulator. Called for each message. */
interface Observer {
  asked(process: HostProcess, request: LinkRequest): void
  answered(process: HostProcess, reply: LinkReply, member: ServingMember): void
  /** The process of a store has received bytes from a member. */
  heard(process: HostProcess): void
}

type Identity = { clusterId: string | undefined }

interface Dialling {
  readonly process: HostProcess
  readonly url: string
  readonly identity: Identity
  readonly events: LinkEvents
  readonly signal: AbortSignal
  readonly resolve: (link: Link) => void
  readonly reject: (error: Error) => void
}

const wrongCluster = (url: string, wanted: string) =>
  new LatchkeyError('ERR_WRONG_CLUSTER', `${url} belongs to another cluster than ${wanted}`)

export class ClientNetwork {
  readonly #timeline: Timeline
  readonly #cuts: Cuts
  readonly #random: Random
  readonly #options: ClientNetworkOptions
  readonly #codec: FrameCodec
  readonly #memberAt: (url: string) => ServingMember | undefined
  readonly #observer: Observer | undefined
  #connections: MemoryConnection[] = []

  constructor(
    timeline: Timeline,
    cuts: Cuts,
    random: Random,
    options: ClientNetworkOptions,
    memberAt: (url: string) => ServingMember | undefined,
    observer?: Observer,
  ) {
    this.#timeline = timeline
    this.#cuts = cuts
    this.#random = random
    this.#options = options
    this.#codec = options.codec ?? { encodeRequests, decodeRequests, encodeReplies, decodeReplies }
    this.#memberAt = memberAt
    this.#observer = observer
  }

  connections(): readonly MemoryConnection[] {
    this.#connections = this.#connections.filter((connection) => !connection.over)
    return this.#connections
  }

  changed(): void {
    for (const connection of this.connections()) connection.look()
  }

  /**
   * As in the real handshake, the member and the store compare the ids of their clusters. `identity` holds
   * the id that the store has learned so far.
   */
  dialTo(process: HostProcess, url: string, identity: Identity = { clusterId: undefined }): Dial {
    return (events, signal) =>
      new Promise((resolve, reject) => {
        const abort = () => reject(signal.reason)
        if (signal.aborted) return abort()
        signal.addEventListener('abort', abort, { once: true })
        this.#timeline.later(this.#delay(), () =>
          this.#knock({ process, url, identity, events, signal, resolve, reject }),
        )
      })
  }

  #delay(): number {
    return this.#random.between(...this.#options.dialling)
  }

  #knock(dial: Dialling): void {
    const { process, url, signal, reject } = dial
    const member = this.#memberAt(url)
    if (process.dead || member === undefined || member.host.dark || this.#isCut(process, member)) return
    const refused = () =>
      process.later(this.#delay(), () => reject(new Error(`${url} refused the connection`)))
    const there = member.host.life
    if (there === undefined || !member.isUp) return refused()
    there.deliver(() => {
      if (!member.serves) return refused()
      const { clusterId: wanted } = dial.identity
      if (wanted !== undefined && member.clusterId !== '' && member.clusterId !== wanted)
        return process.later(this.#delay(), () => reject(wrongCluster(url, wanted)))
      if (!signal.aborted) this.#connect(dial, member, there)
    })
  }

  #isCut(process: HostProcess, { host }: ServingMember): boolean {
    const { index } = process.host
    return this.#cuts.blocked(index, host.index) || this.#cuts.blocked(host.index, index)
  }

  #connect(
    { process, url, identity, events, signal, resolve, reject }: Dialling,
    member: ServingMember,
    there: HostProcess,
  ): void {
    // As in the real handshake, the member's answer contains the id of its cluster. A store that was
    // connected before already knows the id of its cluster.
    const { clusterId } = member
    const welcomed = (link: Link) => {
      if (clusterId !== '') identity.clusterId ??= clusterId
      if (clusterId === '' || identity.clusterId === clusterId) return resolve(link)
      link.close()
      reject(wrongCluster(url, identity.clusterId as string))
    }
    const connection = new MemoryConnection(this.#timeline, this.#cuts, this.#random, this.#options, [
      {
        process,
        receive: (frame) => {
          frames++
          this.#observer?.heard(process)
          this.#heard(process, frame, events, welcomed, link, member)
        },
        closed: () => events.closed(new Error(`the connection to ${member.id} is gone`)),
      },
      {
        process: there,
        receive: (frame) => {
          if (frame === 'ping') connection.send(1, 'pong')
          else this.#requests(frame, (one) => clientConnection.send(one))
        },
        closed: () => clientConnection.close(),
      },
    ])
    let frames = 0
    const link = this.#link(process, connection, () => frames)
    signal.addEventListener('abort', () => connection.end(0), { once: true })
    this.#connections.push(connection)
    connection.greet(0)
    const clientConnection = member.clientConnection((reply) => connection.send(1, this.#replyFrame(reply)))
    member.onGone((silent) => connection.end(1, silent))
  }

  #link(process: HostProcess, connection: MemoryConnection, received: () => number): Link {
    return {
      received,
      probe: () => connection.send(0, 'ping'),
      send: (request) => {
        this.#observer?.asked(process, request)
        for (const frame of this.#requestFrames(request)) connection.send(0, frame)
      },
      close: () => connection.end(0),
    }
  }

  #heard(
    process: HostProcess,
    frame: unknown,
    events: LinkEvents,
    resolve: (link: Link) => void,
    link: Link,
    member: ServingMember,
  ): void {
    if (frame === 'up') return resolve(link)
    if (frame === 'pong') return
    for (const reply of this.#replies(frame)) {
      this.#observer?.answered(process, reply, member)
      events.reply(reply)
    }
  }

  #requestFrames(request: LinkRequest): readonly unknown[] {
    return this.#options.encoded ? this.#codec.encodeRequests([request]) : [request]
  }

  #replyFrame(reply: LinkReply): unknown {
    return this.#options.encoded ? this.#codec.encodeReplies([reply]) : reply
  }

  #requests(frame: unknown, run: (request: LinkRequest) => void): void {
    if (!this.#options.encoded) return run(frame as LinkRequest)
    const requests = this.#codec.decodeRequests(frame as Uint8Array)
    if (typeof requests === 'string') throw new Error(`a client's frame was refused: ${requests}`)
    for (const request of requests) run(request)
  }

  #replies(frame: unknown): readonly LinkReply[] {
    if (!this.#options.encoded) return [frame as LinkReply]
    return (frame as Uint8Array[]).flatMap((bytes) => {
      const replies = this.#codec.decodeReplies(bytes)
      if (typeof replies === 'string') throw new Error(`a member's frame was refused: ${replies}`)
      return replies
    })
  }
}
