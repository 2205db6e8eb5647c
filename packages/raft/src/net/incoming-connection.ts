// Driver: owns one connection that another member has dialled. The other member proves its identity and then
// sends messages. After the handshake, this side only receives.

import type { Timer } from '@latchkey/base'
import type { Socket } from 'node:net'
import type { RawData, WebSocket } from 'ws'
import type { MemberId, Message } from '../core/types.js'
import { type Parcel, toMessage } from './message-decoder.js'
import { Assembly } from './frames.js'
import { encodeRefusal, isRefusal, judgeInfo, type Refusal } from './handshake-frames.js'
import { DialledHandshake, type Step } from './handshake-steps.js'
import { APP } from './message-encoder.js'
import { PeerLiveness } from './peer-liveness.js'
import type { NetSettings, NetStats } from './network-settings.js'
import { bytesOf, farewell } from './websocket-settings.js'
import { watchStranger } from './greeting-size-limit.js'
import { channelOf, whyNotNamed } from './tls.js'
import type { PeerInfo, RefusedEvent } from './transport-interface.js'

export interface IncomingConnectionEvents {
  admitted(incoming: IncomingConnection, info: PeerInfo): void
  message(message: Message): void
  app(from: MemberId, bytes: Uint8Array): void
  received(from: MemberId, bytes: number): void
  refused(event: RefusedEvent, where: string): void
  closed(incoming: IncomingConnection): void
}

type State =
  | { readonly at: 'handshake'; readonly deadline: Timer; readonly handshake: DialledHandshake }
  | {
      readonly at: 'admitted'
      readonly info: PeerInfo
      readonly assembly: Assembly
      readonly liveness: PeerLiveness
    }
  | { readonly at: 'closed' }

/**
 * How many times longer this side waits than the dialling side before it closes a silent connection. The
 * dialling side sends the pings, and this side only waits for pings.
 */
const PATIENCE = 3

export class IncomingConnection {
  readonly #socket: WebSocket
  readonly #raw: Socket
  readonly #where: string
  readonly #settings: NetSettings
  readonly #events: IncomingConnectionEvents
  readonly #stats: NetStats
  readonly #greeted: () => void
  #state: State

  constructor(
    socket: WebSocket,
    raw: Socket,
    settings: NetSettings,
    events: IncomingConnectionEvents,
    stats: NetStats,
  ) {
    this.#socket = socket
    this.#raw = raw
    this.#where = raw.remoteAddress ?? 'unknown'
    this.#settings = settings
    this.#events = events
    this.#stats = stats
    const { clock, timing } = settings
    this.#state = {
      at: 'handshake',
      deadline: clock.after(timing.hello, () => socket.terminate(), { ref: false }),
      handshake: this.#newHandshake(),
    }
    this.#greeted = watchStranger(socket, raw)
    // An 'error' comes, for example, if a frame is longer than SOCKET_CAPS allows. After every 'error' the
    // socket also emits 'close', and the handler of 'close' does the rest.
    socket.on('error', () => socket.terminate())
    socket.on(
      'message',
      this.#guarded((data: RawData) => this.#onFrame(data)),
    )
    socket.on(
      'close',
      this.#guarded(() => this.#onClose()),
    )
  }

  /** Wraps `handle`. An error that `handle` throws closes this connection and has no other effect. */
  #guarded<Args extends readonly unknown[]>(handle: (...args: Args) => void): (...args: Args) => void {
    return this.#settings.errors.guard('member', handle, () => this.terminate())
  }

  get info(): PeerInfo | undefined {
    return this.#state.at === 'admitted' ? this.#state.info : undefined
  }

  #onFrame(data: RawData): void {
    if (this.#state.at === 'handshake') this.#step(this.#state.handshake.receive(bytesOf(data)))
    else if (this.#state.at === 'admitted')
      this.#receive(bytesOf(data), this.#state.info, this.#state.assembly)
  }

  // ---- The handshake

  #newHandshake(): DialledHandshake {
    const { self, admit, missing, newNonce, tls } = this.#settings
    return new DialledHandshake({
      self,
      admit,
      missing,
      newNonce,
      channel: channelOf(tls, this.#raw),
      whyNotNamed: (id) => whyNotNamed(tls, this.#raw, id),
    })
  }

  #step(step: Step): void {
    if (step.next === 'wait') return this.#socket.send(step.send)
    this.#greeted()
    if (step.next === 'refused') return this.#refuse(step.refusal, step.id, step.info)
    if (step.next === 'identified') {
      this.#socket.send(step.send)
      return void this.close(1000)
    }
    if (this.#state.at === 'handshake') this.#state.deadline.cancel()
    this.#state = { at: 'admitted', info: step.info, assembly: new Assembly(), liveness: this.#listen() }
    if (step.send !== undefined) this.#socket.send(step.send)
    this.#events.admitted(this, step.info)
  }

  #listen(): PeerLiveness {
    const { clock, defer, timing } = this.#settings
    const silent = () => this.#socket.terminate()
    const guardedDefer = (run: () => void) => defer(this.#guarded(run))
    return new PeerLiveness(
      {
        clock,
        defer: guardedDefer,
        received: () => this.#raw.bytesRead,
        waiting: () => 0,
        ping: undefined,
        silent,
      },
      timing.ping,
      timing.missed * PATIENCE,
    )
  }

  #refuse(refusal: Refusal, id: MemberId | undefined, info: PeerInfo | undefined): void {
    const { code, reason } = refusal
    this.#stats.refused++
    if (this.#socket.readyState === this.#socket.OPEN)
      this.#socket.send(encodeRefusal(refusal, this.#settings.self()))
    void this.close(1008)
    this.#events.refused({ id, by: 'us', code, reason, info }, this.#where)
  }

  recheck(): void {
    if (this.#state.at !== 'admitted') return
    const { info } = this.#state
    const verdict = judgeInfo(this.#settings.self(), info, this.#settings.admit)
    if (!isRefusal(verdict)) return
    this.#stats.refused++
    void this.close(1008)
    this.#events.refused(
      { id: info.id, by: 'us', code: verdict.code, reason: verdict.reason, info },
      this.#where,
    )
  }

  // ---- Received messages

  /** All messages of a frame are checked before the first message is delivered. */
  #receive(frame: Uint8Array, info: PeerInfo, assembly: Assembly): void {
    this.#stats.framesReceived++
    this.#events.received(info.id, frame.length)
    const parcels = assembly.take(frame)
    const said = typeof parcels === 'string' ? parcels : this.#read(parcels, info)
    if (typeof said === 'string') return this.#malformed(said, info)
    for (const one of said) {
      // The receiver of an earlier message of this frame may have closed this connection.
      if (this.#state.at !== 'admitted') return
      if (one instanceof Uint8Array) this.#events.app(info.id, one)
      else this.#events.message(one)
    }
  }

  #read(parcels: readonly Parcel[], info: PeerInfo): (Message | Uint8Array)[] | string {
    const { id } = this.#settings.self()
    const said: (Message | Uint8Array)[] = []
    for (const parcel of parcels) {
      const one = parcel.item[0] === APP ? appBytes(parcel) : toMessage(parcel, info.id, id)
      if (typeof one === 'string') return one
      if (one === undefined) this.#stats.unknown++
      else if (!(one instanceof Uint8Array) && one.group !== info.group) return 'a message of another group'
      else said.push(one)
    }
    return said
  }

  #malformed(reason: string, info: PeerInfo): void {
    this.#stats.malformed++
    void this.close(1002)
    this.#events.refused({ id: info.id, by: 'us', code: 'ERR_PROTOCOL', reason, info }, this.#where)
  }

  // ---- The end of the connection

  #onClose(): void {
    this.#leave()
    this.#events.closed(this)
  }

  #leave(): void {
    if (this.#state.at === 'handshake') this.#state.deadline.cancel()
    if (this.#state.at === 'admitted') this.#state.liveness.stop()
    this.#state = { at: 'closed' }
  }

  terminate(): void {
    this.#leave()
    this.#socket.terminate()
  }

  close(code: number): Promise<void> {
    this.#leave()
    const { clock, timing } = this.#settings
    return farewell(this.#socket, clock, timing.farewell, code)
  }
}

const appBytes = ({ item, blobs }: Parcel): Uint8Array | string =>
  item.length === 2 && blobs.length === 1 ? (blobs[0] as Uint8Array) : 'an opaque message is wrong'
