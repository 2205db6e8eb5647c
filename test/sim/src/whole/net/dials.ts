// Driver: the clients' network: dialling a member, and the frames between a store and its client connection there.

import type { Random } from '@latchkey/base'
import type { Dial, Link, LinkEvents } from '@latchkey/client'
import type { LinkReply, LinkRequest } from '@latchkey/protocol'
import type { Ground } from '../ground/ground.js'
import type { Life } from '../ground/host.js'
import type { House } from '../house.js'
import type { Station } from '../members/station.js'
import type { Cuts } from './cuts.js'
import { Pipe, type PipeOptions } from './pipe.js'

export interface DialsOptions extends PipeOptions {
  readonly encoded: boolean
}

/** What goes by between a store and a member, for whoever judges it. */
export interface Ear {
  asked(life: Life, request: LinkRequest): void
  answered(life: Life, reply: LinkReply): void
  /** Bytes came, of whatever kind. */
  heard(life: Life): void
}

export class Dials {
  readonly #ground: Ground
  readonly #cuts: Cuts
  readonly #random: Random
  readonly #house: House
  readonly #options: DialsOptions
  readonly #station: (url: string) => Station | undefined
  readonly #ear: Ear
  #pipes: Pipe[] = []

  constructor(
    ground: Ground,
    cuts: Cuts,
    random: Random,
    house: House,
    options: DialsOptions,
    station: (url: string) => Station | undefined,
    ear: Ear,
  ) {
    this.#ground = ground
    this.#cuts = cuts
    this.#random = random
    this.#house = house
    this.#options = options
    this.#station = station
    this.#ear = ear
  }

  pipes(): readonly Pipe[] {
    this.#pipes = this.#pipes.filter((pipe) => !pipe.over)
    return this.#pipes
  }

  changed(): void {
    for (const pipe of this.pipes()) pipe.look()
  }

  dialTo(life: Life, url: string): Dial {
    return (events, signal) =>
      new Promise((resolve, reject) => {
        const abort = () => reject(signal.reason)
        if (signal.aborted) return abort()
        signal.addEventListener('abort', abort, { once: true })
        this.#ground.later(this.#delay(), () => this.#knock(life, url, events, signal, resolve, reject))
      })
  }

  #delay(): number {
    return 2 * this.#options.base + this.#random.between(0, 2_000)
  }

  #knock(
    life: Life,
    url: string,
    events: LinkEvents,
    signal: AbortSignal,
    resolve: (link: Link) => void,
    reject: (error: Error) => void,
  ): void {
    const station = this.#station(url)
    if (life.dead || station === undefined || station.host.dark || this.#isCut(life, station)) return
    const refused = () => life.later(this.#delay(), () => reject(new Error(`${url} refused the connection`)))
    if (station.host.life === undefined || station.member === undefined) return refused()
    station.host.life.deliver(() => {
      // As the door does: who is no member sends its clients elsewhere.
      if (station.member === undefined || station.member.isOutside) return refused()
      if (!signal.aborted) this.#connect(life, station, events, signal, resolve)
    })
  }

  #isCut(life: Life, { host }: Station): boolean {
    return this.#cuts.blocked(life.host.index, host.index) || this.#cuts.blocked(host.index, life.host.index)
  }

  #connect(
    life: Life,
    station: Station,
    events: LinkEvents,
    signal: AbortSignal,
    resolve: (link: Link) => void,
  ): void {
    const { member } = station
    const there = station.host.life
    if (member === undefined || there === undefined) return
    const pipe = new Pipe(this.#ground, this.#cuts, this.#random, this.#options, [
      {
        life,
        receive: (frame) => {
          frames++
          this.#ear.heard(life)
          this.#heard(life, frame, events, resolve, link)
        },
        closed: () => gone(),
      },
      {
        life: there,
        receive: (frame) => {
          if (frame === 'ping') pipe.send(1, 'pong')
          else this.#requests(frame, (one) => clientConnection.send(one))
        },
        closed: () => clientConnection.close(),
      },
    ])
    const gone = () => events.closed(new Error(`the connection to ${station.id} is gone`))
    let frames = 0
    const link = this.#link(life, pipe, () => frames)
    signal.addEventListener('abort', () => pipe.end(0), { once: true })
    this.#pipes.push(pipe)
    pipe.greet(0)
    const clientConnection = member.clientConnection(
      (reply) => pipe.send(1, this.#replyFrame(reply)),
      this.#house.ANONYMOUS,
    )
    station.onGone((silent) => pipe.end(1, silent))
  }

  #link(life: Life, pipe: Pipe, received: () => number): Link {
    return {
      received,
      probe: () => pipe.send(0, 'ping'),
      send: (request) => {
        this.#ear.asked(life, request)
        for (const frame of this.#requestFrames(request)) pipe.send(0, frame)
      },
      close: () => pipe.end(0),
    }
  }

  #heard(life: Life, frame: unknown, events: LinkEvents, resolve: (link: Link) => void, link: Link): void {
    if (frame === 'up') return resolve(link)
    if (frame === 'pong') return
    for (const reply of this.#replies(frame)) {
      this.#ear.answered(life, reply)
      events.reply(reply)
    }
  }

  // ---- frames

  #requestFrames(request: LinkRequest): readonly unknown[] {
    return this.#options.encoded ? this.#house.encodeRequests([request]) : [request]
  }

  #replyFrame(reply: LinkReply): unknown {
    return this.#options.encoded ? this.#house.encodeReplies([reply]) : reply
  }

  #requests(frame: unknown, run: (request: LinkRequest) => void): void {
    if (!this.#options.encoded) return run(frame as LinkRequest)
    const requests = this.#house.decodeRequests(frame as Uint8Array)
    if (typeof requests === 'string') throw new Error(`a client's frame was refused: ${requests}`)
    for (const request of requests) run(request)
  }

  #replies(frame: unknown): readonly LinkReply[] {
    if (!this.#options.encoded) return [frame as LinkReply]
    return (frame as Uint8Array[]).flatMap((bytes) => {
      const replies = this.#house.decodeReplies(bytes)
      if (typeof replies === 'string') throw new Error(`a member's frame was refused: ${replies}`)
      return replies
    })
  }
}
