// Driver: traces the calls and waits of one store, and the work under its locks. OpenTelemetry and the
// subscribers of node:diagnostics_channel get the traces. docs/tracing.md names the spans, their attributes
// and the channels.
//
// Laws
// - OB1: if no program listens, no call, no wait and no work under a lock creates an object for tracing. So
//   each caller first checks `followsCalls` or `isOn`.
// - OB2: each span ends once, with an answer, an error, or the close of the store.
// - Renewals are not traced. One request renews all holds of a store, so a renewal belongs to no caller.

import type { Logger } from '@latchkey/base'
import type { Observer, WaitKind } from '@latchkey/lock'
import { commandName, nameOfLockKey, OP, opOf, readName, shownKey } from '@latchkey/protocol'
import type { Payload } from '../engine/call.js'
import { addressAttributes, CallTrace, endSpan } from './call-trace.js'
import {
  type CallMessage,
  CHANNELS,
  Publication,
  type WaitMessage,
  type WorkMessage,
} from './diagnostics-channels.js'
import { type Attributes, OpenTelemetry, requireOpenTelemetry, type Span } from './open-telemetry.js'

/** The value of db.system.name. */
const SYSTEM = 'latchkey'
/** In characters. A longer key is cut at this length in a span or a message. */
const MOST_CHARACTERS = 256

export function tracingOption(given: unknown): boolean {
  if (given !== undefined && typeof given !== 'boolean')
    throw new TypeError('tracing must be true or false; without it, a store traces if an SDK is registered')
  if (given === true) requireOpenTelemetry()
  return given ?? true
}

export class Tracing implements Observer {
  readonly openTelemetry: OpenTelemetry
  readonly #namespace: string

  constructor(namespace: string, logger: Logger) {
    this.#namespace = namespace
    this.openTelemetry = new OpenTelemetry(logger)
  }

  get followsCalls(): boolean {
    return this.openTelemetry.isRegistered || CHANNELS.call.hasSubscribers
  }

  get isOn(): boolean {
    return this.openTelemetry.isRegistered || CHANNELS.wait.hasSubscribers || CHANNELS.work.hasSubscribers
  }

  /**
   * Starts the trace of a call, or returns undefined for a renewal. `address` is the address of the member to
   * which the call will probably go. `address` is undefined if it is not known.
   */
  call(payload: Payload, address: string | undefined): CallTrace | undefined {
    if (payload.what === 'command' && opOf(payload.body) === OP.renew) return undefined
    const operation = nameOf(payload)
    const namespace = this.#namespace
    const span = this.openTelemetry.start({
      name: `${operation} ${namespace}`,
      kind: 'client',
      attributes: { ...this.#about(), 'db.operation.name': operation, ...addressAttributes(address) },
    })
    const message: CallMessage = { operation, namespace, address }
    const publication = CHANNELS.call.hasSubscribers ? new Publication(CHANNELS.call, message) : undefined
    publication?.run(nothing)
    return new CallTrace(span, publication)
  }

  async wait<T>(
    kind: WaitKind,
    keys: readonly Uint8Array[],
    isGranted: (result: T) => boolean,
    run: () => Promise<T>,
  ): Promise<T> {
    const shown = keys.map(shownName)
    const about = { 'latchkey.wait.kind': kind, 'latchkey.keys': shown }
    const span = this.#start(`${kind} wait`, about)
    const message: WaitMessage = { kind, namespace: this.#namespace, keys: shown, isGranted: undefined }
    const publication = CHANNELS.wait.hasSubscribers ? new Publication(CHANNELS.wait, message) : undefined
    return followed(span, publication, run, (result) => {
      message.isGranted = isGranted(result)
      return { 'latchkey.wait.granted': message.isGranted }
    })
  }

  async work<T>(key: Uint8Array, fencingToken: number, run: () => Promise<T>): Promise<T> {
    const shown = shownName(key)
    const about = { 'latchkey.keys': [shown], 'latchkey.fencing_token': fencingToken }
    const span = this.#start('lock work', about)
    const message: WorkMessage = { namespace: this.#namespace, key: shown, fencingToken }
    const publication = CHANNELS.work.hasSubscribers ? new Publication(CHANNELS.work, message) : undefined
    return followed(span, publication, run, none)
  }

  #start(name: string, attributes: Attributes): Span | undefined {
    return this.openTelemetry.start({
      name,
      kind: 'internal',
      attributes: { ...this.#about(), ...attributes },
    })
  }

  #about(): Attributes {
    return { 'db.system.name': SYSTEM, 'db.namespace': this.#namespace }
  }
}

async function followed<T, Message extends { error?: unknown }>(
  span: Span | undefined,
  publication: Publication<Message> | undefined,
  run: () => Promise<T>,
  about: (result: T) => Attributes,
): Promise<T> {
  const inSpan = span === undefined ? run : () => span.run(run)
  try {
    const result = await (publication === undefined ? inSpan() : publication.run(inSpan))
    endSpan(span, about(result))
    publication?.end(undefined)
    return result
  } catch (error) {
    endSpan(span, {}, error)
    publication?.end(error)
    throw error
  }
}

const nothing = () => {}
const none = (): Attributes => ({})

function nameOf(payload: Payload): string {
  switch (payload.what) {
    case 'command':
      return commandName(opOf(payload.body))
    case 'read':
      return readName(payload.read[0])
    case 'admin':
      return payload.call
  }
}

/** Returns a name for a span or a message. A name that is not text is written in hex. */
function shownName(key: Uint8Array): string {
  const name = shownKey(nameOfLockKey(key))
  const shown = typeof name === 'string' ? name : Buffer.from(name).toString('hex')
  return shown.slice(0, MOST_CHARACTERS)
}
