// Driver: owns the connection that this member dials to one other member, and on which it sends all messages
// to that member.
// long: the states of one connection and the steps between them read together
//
// Laws
//   - the events 'up' and 'gone' alternate. 'dead' comes at most once after each 'gone' (TR4).
//   - 'dead' comes only if the peer's process has certainly ended. After a close there are two proofs: the
//     peer's operating system refuses a new connection, or a process with another boot number answers (TR3).
//     Each process draws a boot number at its start.
//   - the first attempt after a close is made immediately. The pauses between later attempts grow.
//   - when the connection closes, all messages that wait to be sent are dropped. So no message of an old
//     connection is sent on a new connection (TR1).

import type { Timer } from '@latchkey/base'
import { noMask } from '@latchkey/protocol'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type ClientOptions, type RawData, WebSocket } from 'ws'
import type { MemberId, Message } from '../core/types.js'
import { Backoff } from './backoff.js'
import { MEMBERS_PATH } from './frames.js'
import { isRefusal, judgeInfo, type Refusal } from './handshake-frames.js'
import { DiallingHandshake } from './handshake-steps.js'
import { SendQueues } from './send-queues.js'
import { PeerLiveness } from './peer-liveness.js'
import type { NetSettings, NetStats } from './network-settings.js'
import { isRefusedBySystem, refusalIn } from './classify-dial-error.js'
import { bytesOf, farewell, SOCKET_CAPS, SOCKET_FULL } from './websocket-settings.js'
import { channelOf, clientTls, whyNotNamed } from './tls.js'
import type { PeerEvent, PeerInfo, RefusedEvent } from './transport-interface.js'

interface OutgoingConnectionEvents {
  peer(event: PeerEvent): void
  refused(event: RefusedEvent, where: string): void
}

interface LinkTo {
  readonly id: MemberId
  readonly url: string
  /**
   * True if this side only wants to know which member answers at the address. The other side answers and
   * closes the connection.
   */
  readonly asks?: boolean
}

type State =
  | { readonly at: 'waiting'; readonly timer: Timer | undefined }
  | {
      readonly at: 'dialling'
      readonly socket: WebSocket
      readonly deadline: Timer
      handshake: DiallingHandshake | undefined
      error: unknown
    }
  | {
      readonly at: 'up'
      readonly socket: WebSocket
      readonly info: PeerInfo
      readonly liveness: PeerLiveness
      readonly since: number
    }
  | { readonly at: 'closed' }

export class OutgoingConnection {
  readonly id: MemberId
  readonly url: string
  readonly #asks: boolean
  readonly #settings: NetSettings
  readonly #events: OutgoingConnectionEvents
  readonly #stats: NetStats
  readonly #sendQueues: SendQueues
  readonly #backoff: Backoff
  #state: State = { at: 'waiting', timer: undefined }
  /**
   * The peer's process, after its connection has closed and before this member knows whether the process has
   * ended.
   */
  #lost: PeerInfo | undefined
  /** True if the last call of `pump` could not send all waiting messages. */
  #blocked = false
  /** Counted from the start of this process on. A new address of the member starts a new count. */
  bytesSent = 0
  #leaving: { readonly timer: Timer; readonly left: () => void } | undefined

  constructor(
    { id, url, asks = false }: LinkTo,
    settings: NetSettings,
    events: OutgoingConnectionEvents,
    stats: NetStats,
  ) {
    this.id = id
    this.url = url
    this.#asks = asks
    this.#settings = settings
    this.#events = events
    this.#stats = stats
    this.#sendQueues = new SendQueues(settings.caps)
    this.#backoff = new Backoff(settings.timing.backoff, settings.random)
    this.pump = this.#guarded(() => this.#pump())
  }

  /**
   * Wraps `handle`. An error that `handle` throws closes this connection, and the member is dialled again.
   * The error has no other effect.
   */
  #guarded<Args extends readonly unknown[]>(handle: (...args: Args) => void): (...args: Args) => void {
    return this.#settings.errors.guard('dialled member', handle, () => this.#broken())
  }

  /**
   * Called when a handler has thrown. The 'close' event of the socket starts the next attempt. Without a
   * socket, this method starts the next attempt.
   */
  #broken(): void {
    const state = this.#state
    if (state.at === 'dialling' || state.at === 'up') return state.socket.terminate()
    if (state.at === 'waiting' && state.timer === undefined) this.#retryLater()
  }

  start(): void {
    this.#guarded(() => this.#retry())()
  }

  get info(): PeerInfo | undefined {
    return this.#state.at === 'up' ? this.#state.info : undefined
  }

  get waitingBytes(): number {
    return this.#sendQueues.bytes
  }

  /** In bytes, what the socket holds because the operating system has not accepted it yet. */
  get heldBytes(): number {
    return this.#state.at === 'up' ? this.#state.socket.bufferedAmount : 0
  }

  /** In ms, how long the peer takes to answer a ping. Undefined before the first ping of a connection. */
  get roundTripMillis(): number | undefined {
    return this.#state.at === 'up' ? this.#state.liveness.roundTrip.at(this.#settings.clock.now()) : undefined
  }

  send(message: Message): boolean {
    if (this.#state.at !== 'up') return false
    const before = this.#sendQueues.dropped
    this.#sendQueues.add(message)
    const dropped = this.#sendQueues.dropped - before
    if (dropped > 0) {
      this.#stats.dropped += dropped
      this.#settings.logger.debug('a member reads too slowly, messages were dropped', {
        peer: this.id,
        dropped,
      })
    }
    return true
  }

  sendApp(bytes: Uint8Array): boolean {
    return this.#state.at === 'up' && this.#sendQueues.addApp(bytes)
  }

  readonly pump: () => void

  #pump(): void {
    this.#blocked = false
    if (this.#state.at !== 'up') return
    const { socket } = this.#state
    // A broken socket reports its unsent bytes as written before its 'close' event. So nothing is sent now,
    // because a message that is given to this socket would be lost.
    if (socket.readyState !== socket.OPEN) return
    for (let held = socket.bufferedAmount; held <= SOCKET_FULL; held = socket.bufferedAmount) {
      const frame = this.#sendQueues.next(held === 0)
      if (frame === undefined) break
      this.#stats.framesSent++
      this.bytesSent += frame.length
      socket.send(frame, this.#onWritten)
    }
    this.#blocked = !this.#sendQueues.empty
  }

  readonly #onWritten = (): void => {
    if (this.#blocked) this.pump()
  }

  #retry(): void {
    if (this.#leaving !== undefined) return this.#leave()
    const pause = this.#backoff.next()
    if (pause === 0) return this.#dial()
    this.#dialLater(pause)
  }

  #dialLater(pause: number): void {
    const dial = this.#guarded(() => this.#dial())
    this.#state = { at: 'waiting', timer: this.#settings.clock.after(pause, dial, { ref: false }) }
  }

  #dial(): void {
    this.#state = { at: 'waiting', timer: undefined }
    const socket = this.#open()
    if (socket === undefined) return this.#retryLater()
    const { clock, timing } = this.#settings
    const deadline = clock.after(timing.connect, () => socket.terminate(), { ref: false })
    this.#state = { at: 'dialling', socket, deadline, handshake: undefined, error: undefined }
    this.#listen(socket)
  }

  #listen(socket: WebSocket): void {
    let raw: Socket | undefined
    const greet = this.#guarded(() => this.#greet(socket, raw as Socket))
    const receive = this.#guarded((data: RawData) => this.#onFrame(socket, raw as Socket, data))
    const close = this.#guarded(() => this.#onClose(socket))
    socket.on('upgrade', (response: IncomingMessage) => {
      raw = response.socket
    })
    socket.on('open', greet)
    socket.on('message', receive)
    socket.on('error', (error) => {
      if (this.#state.at === 'dialling' && this.#state.socket === socket) this.#state.error = error
    })
    socket.on('close', close)
  }

  /**
   * If the other side's certificate names another member, this side closes the connection and sends no proof.
   */
  #greet(socket: WebSocket, raw: Socket): void {
    if (this.#state.at !== 'dialling' || this.#state.socket !== socket) return
    const { tls, self, admit, newNonce } = this.#settings
    const reason = whyNotNamed(tls, raw, this.id)
    if (reason !== undefined) {
      this.#refused({ code: 'ERR_UNAUTHORIZED', reason, trusted: true }, 'us', undefined)
      return socket.terminate()
    }
    const channel = channelOf(tls, raw)
    this.#state.handshake = new DiallingHandshake({ self, admit, newNonce, channel }, this.id, this.#asks)
    socket.send(this.#state.handshake.greeting)
  }

  /** Undefined if the address is invalid. */
  #open(): WebSocket | undefined {
    const { tls } = this.#settings
    try {
      const url = new URL(this.url)
      if (tls !== undefined && url.protocol !== 'wss:')
        throw new Error('members use TLS here: give a wss:// address')
      url.pathname = url.pathname.replace(/\/$/, '') + MEMBERS_PATH
      const options = { ...SOCKET_CAPS, generateMask: noMask, ...clientTls(tls) } satisfies ClientOptions
      return new WebSocket(url, options)
    } catch (error) {
      const reason = `its address ${this.url} cannot be used: ${(error as Error).message}`
      this.#refused({ code: 'ERR_PROTOCOL', reason, trusted: true }, 'us', undefined)
      return undefined
    }
  }

  /** Dials again after a pause, because an attempt without a pause would fail in the same way. */
  #retryLater(): void {
    if (this.#state.at === 'closed') return
    const pause = this.#backoff.next() || this.#settings.timing.backoff.most
    this.#dialLater(pause)
  }

  #onFrame(socket: WebSocket, raw: Socket, data: RawData): void {
    // After the handshake the other side sends no frame on this connection.
    if (this.#state.at !== 'dialling' || this.#state.socket !== socket) return socket.terminate()
    const step = this.#state.handshake?.receive(bytesOf(data))
    if (step === undefined) return socket.terminate()
    if (step.next === 'wait') return socket.send(step.send)
    // This never happens: only the handshake of the dialled side returns 'identified'.
    if (step.next === 'identified') return socket.terminate()
    if (step.next === 'admitted') return this.#onUp(socket, raw, step.info)
    if (step.by === 'them') this.#judgeLost(step.info)
    this.#refused(step.refusal, step.by, step.info)
    socket.terminate()
  }

  #onUp(socket: WebSocket, raw: Socket, info: PeerInfo): void {
    const { clock, defer, timing, logger } = this.#settings
    if (this.#state.at === 'dialling') this.#state.deadline.cancel()
    const liveness = new PeerLiveness(
      {
        clock,
        defer: (run) => defer(this.#guarded(run)),
        received: () => raw.bytesRead,
        waiting: () => socket.bufferedAmount,
        ping: () => socket.ping(),
        silent: () => {
          logger.info('a member is silent, its connection is given up', { peer: this.id })
          socket.terminate()
        },
      },
      timing.ping,
      timing.missed,
    )
    socket.on('pong', () => liveness.roundTrip.answered(clock.now()))
    this.#state = { at: 'up', socket, info, liveness, since: clock.now() }
    this.#judgeLost(info)
    this.#lost = undefined
    if (this.info !== info) return
    logger.debug('connected to a member', { peer: this.id, boot: info.boot })
    this.#events.peer({ id: this.id, state: 'up', info })
  }

  #onClose(socket: WebSocket): void {
    const state = this.#state
    if ((state.at !== 'up' && state.at !== 'dialling') || state.socket !== socket) return
    if (state.at === 'dialling') {
      state.deadline.cancel()
      this.#state = { at: 'waiting', timer: undefined }
      if (isRefusedBySystem(state.error)) this.#dead()
      const refusal = refusalIn(state.error)
      if (refusal !== undefined) this.#refused(refusal, refusal.by, undefined)
    } else this.#gone(state.info, state.liveness, state.since)
    if (this.#state.at === 'waiting' && this.#state.timer === undefined) this.#retry()
  }

  #gone(info: PeerInfo, liveness: PeerLiveness, since: number): void {
    liveness.stop()
    this.#state = { at: 'waiting', timer: undefined }
    this.#lost = info
    this.#sendQueues.clear()
    const { clock, timing, logger } = this.#settings
    if (clock.now() - since >= timing.lived) this.#backoff.reset()
    logger.debug('the connection to a member is gone', { peer: this.id, boot: info.boot })
    this.#events.peer({ id: this.id, state: 'gone', info })
  }

  /**
   * Called when a process has answered at the member's address. If this process has another boot number
   * (drawn at each start of a process) than the last connected process, the last connected process has ended.
   */
  #judgeLost(answered: PeerInfo | undefined): void {
    const lost = this.#lost
    if (lost !== undefined && answered?.id === this.id && answered.boot !== lost.boot) this.#dead()
  }

  #dead(): void {
    const info = this.#lost
    this.#lost = undefined
    if (info !== undefined) this.#events.peer({ id: this.id, state: 'dead', info })
  }

  #refused({ code, reason }: Refusal, by: 'us' | 'them', info: PeerInfo | undefined): void {
    this.#stats.refused++
    this.#events.refused({ id: this.id, by, code, reason, info }, this.url)
  }

  /**
   * Called when the peer has just dialled this member. So the peer is alive, and this side dials the peer
   * without a pause. If this side is connected to a process of the peer with another boot number, that
   * process has ended, and this side closes the connection.
   */
  knock(boot: number): void {
    if (this.#state.at === 'waiting' && this.#leaving === undefined) {
      this.#state.timer?.cancel()
      this.#guarded(() => this.#dial())()
    } else if (this.#state.at === 'up' && this.#state.info.boot !== boot) this.#state.socket.terminate()
  }

  /** Closes the connection. The 'close' event of the socket then starts the next attempt. */
  hangUp(): void {
    if (this.#state.at === 'up') this.#state.socket.terminate()
  }

  recheck(): void {
    if (this.#state.at !== 'up') return
    const { info, socket } = this.#state
    const verdict = judgeInfo(this.#settings.self(), info, this.#settings.admit)
    if (!isRefusal(verdict)) return
    this.#refused(verdict, 'us', info)
    socket.terminate()
  }

  /**
   * Called when the peer was removed from the cluster. The connection stays open for `timing.linger` ms, so
   * that the peer learns of its removal. The peer is not dialled again. `left` is called when the connection
   * is closed.
   */
  leave(left: () => void): void {
    if (this.#leaving !== undefined) return
    const { clock, timing } = this.#settings
    const timer = clock.after(timing.linger, () => this.#leave(), { ref: false })
    this.#leaving = { timer, left }
    if (this.#state.at !== 'up') this.#leave()
  }

  stay(): void {
    this.#leaving?.timer.cancel()
    this.#leaving = undefined
  }

  #leave(): void {
    const left = this.#leaving?.left
    void this.close()
    left?.()
  }

  close(): Promise<void> {
    const state = this.#state
    this.pump()
    this.stay()
    this.#state = { at: 'closed' }
    this.#sendQueues.clear()
    if (state.at === 'waiting') state.timer?.cancel()
    if (state.at === 'waiting' || state.at === 'closed') return Promise.resolve()
    if (state.at === 'dialling') state.deadline.cancel()
    else state.liveness.stop()
    const { clock, timing } = this.#settings
    return farewell(state.socket, clock, timing.farewell, 1001)
  }
}
