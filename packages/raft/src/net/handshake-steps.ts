// Rule: the steps of the handshake, for the dialling side and for the dialled side. A received frame goes in,
// and the next frame or the result comes out. outgoing-connection.ts and incoming-connection.ts own the
// sockets and the time limits.

import {
  type Admit,
  decodeChallenge,
  decodeGreeting,
  decodeHello,
  decodeProof,
  decodeReply,
  encodeChallenge,
  encodeGreeting,
  encodeHello,
  encodeProof,
  encodeWelcome,
  type Greeting,
  isRefusal,
  judgeHello,
  judgeWelcome,
  type Missing,
  notForUs,
  noVersion,
  type Refusal,
  type Refused,
  type Self,
  versionOf,
  WRONG_NAME,
  WRONG_PROOF,
} from './handshake-frames.js'
import type { MemberId } from '../core/types.js'
import { WIRE } from './frames.js'
import { type ProofInputs, proofOf, provenWith, type Side } from './token-proof.js'
import type { PeerInfo } from './transport-interface.js'

interface DiallingPorts {
  /**
   * Returns this member's description of itself. The handshake calls this at each step, because the cluster's
   * id may be drawn during a handshake.
   */
  readonly self: () => Self
  readonly admit: Admit
  readonly newNonce: () => Uint8Array
  /** Bytes that only the two ends of this TLS connection know. Empty without TLS. */
  readonly channel: Uint8Array
}

export interface HandshakePorts extends DiallingPorts {
  readonly missing: Missing
  /** Returns the reason to refuse if the other side's certificate does not name the member `id`. */
  whyNotNamed(id: MemberId): string | undefined
}

export type Step =
  | { readonly next: 'wait'; readonly send: Uint8Array }
  | { readonly next: 'admitted'; readonly send: Uint8Array | undefined; readonly info: PeerInfo }
  /** The other side only asked which member it has reached. The connection ends after the answer `send`. */
  | { readonly next: 'identified'; readonly send: Uint8Array }
  | {
      readonly next: 'refused'
      readonly by: 'us' | 'them'
      readonly refusal: Refusal
      readonly id: MemberId | undefined
      /** The other side's description of itself. Undefined if the other side has not proved its identity. */
      readonly info: PeerInfo | undefined
    }

const sideOf = (nonce: Uint8Array): Side => ({ nonce, ...WIRE })

const malformed = (reason: string): Refusal => ({ code: 'ERR_PROTOCOL', reason, trusted: false })

export class DiallingHandshake {
  readonly #ports: DiallingPorts
  readonly #greeting: Greeting
  readonly #asks: boolean
  #at: 'greeted' | 'proved' | 'hello sent' | 'over' = 'greeted'
  #inputs: ProofInputs | undefined
  /** The token that this side has proved. The other side must prove the same token. */
  #token: string | undefined

  /** If `asks` is true, this side only wants to know which member answers, and keeps no connection. */
  constructor(ports: DiallingPorts, to: MemberId, asks = false) {
    const { cluster, id } = ports.self()
    this.#ports = ports
    this.#asks = asks
    this.#greeting = { cluster, from: id, to, ...sideOf(ports.newNonce()) }
  }

  get greeting(): Uint8Array {
    return encodeGreeting(this.#greeting)
  }

  receive(frame: Uint8Array): Step {
    const { to } = this.#greeting
    switch (this.#at) {
      case 'greeted':
        return this.#challenged(decodeChallenge(frame))
      case 'proved':
        return this.#answered(decodeProof(frame))
      case 'hello sent':
        return this.#welcomed(decodeReply(frame))
      case 'over':
        return this.#refuse(malformed(`member ${to} says more than a welcome`))
    }
  }

  #challenged(challenge: Side | Refused | string): Step {
    if (typeof challenge === 'string') return this.#refuse(malformed(challenge))
    if ('ok' in challenge) return this.#refused(challenge)
    const refusal = noVersion(this.#greeting, challenge)
    if (refusal !== undefined) return this.#refuse(refusal)
    const { cluster, from, to } = this.#greeting
    const { channel } = this.#ports
    this.#inputs = { cluster, from, to, dialled: this.#greeting, answered: challenge, channel }
    this.#token = this.#ports.self().tokens[0]
    this.#at = 'proved'
    return wait(encodeProof(proofOf(this.#token, 'the one who dials', this.#inputs)))
  }

  #answered(proof: Uint8Array | Refused | string): Step {
    if (typeof proof === 'string') return this.#refuse(malformed(proof))
    if ('ok' in proof) return this.#refused(proof)
    const tokens = this.#token === undefined ? [] : [this.#token]
    if (provenWith(tokens, 'the one who was dialled', this.#inputs as ProofInputs, proof) === false)
      return this.#refuse(WRONG_PROOF)
    this.#at = 'hello sent'
    return wait(encodeHello(this.#ports.self(), this.#asks))
  }

  #welcomed(reply: ReturnType<typeof decodeReply>): Step {
    if (typeof reply === 'string') return this.#refuse(malformed(reply))
    if (!reply.ok) return this.#refused(reply)
    const verdict = judgeWelcome(this.#ports.self(), this.#greeting.to, reply.info, this.#ports.admit)
    if (isRefusal(verdict)) return this.#refuse(verdict, reply.info)
    this.#at = 'over'
    return { next: 'admitted', send: undefined, info: verdict }
  }

  #refuse(refusal: Refusal, info?: PeerInfo): Step {
    this.#at = 'over'
    return { next: 'refused', by: 'us', refusal, id: this.#greeting.to, info }
  }

  /**
   * As long as the other side has not proved its identity, this side believes only the code and the reason of
   * the refusal.
   */
  #refused({ code, reason, info }: Refused): Step {
    const trusted = this.#at === 'hello sent'
    this.#at = 'over'
    const refusal = { code, reason, trusted }
    return {
      next: 'refused',
      by: 'them',
      refusal,
      id: this.#greeting.to,
      info: trusted ? info : undefined,
    }
  }
}

export class DialledHandshake {
  readonly #ports: HandshakePorts
  readonly #side: Side
  #at: 'new' | 'challenged' | 'proved' | 'over' = 'new'
  #greeting: Greeting | undefined

  constructor(ports: HandshakePorts) {
    this.#ports = ports
    this.#side = sideOf(ports.newNonce())
  }

  receive(frame: Uint8Array): Step {
    switch (this.#at) {
      case 'new':
        return this.#greeted(decodeGreeting(frame))
      case 'challenged':
        return this.#proved(decodeProof(frame), this.#greeting as Greeting)
      case 'proved':
        return this.#helloReceived(frame, this.#greeting as Greeting)
      case 'over':
        return this.#refuse(malformed('a handshake is over'))
    }
  }

  #greeted(greeting: Greeting | string): Step {
    if (typeof greeting === 'string') return this.#refuse(malformed(greeting))
    this.#greeting = greeting
    const refusal = noVersion(greeting, this.#side)
    if (refusal !== undefined) return this.#refuse(refusal)
    if (greeting.cluster !== this.#ports.self().cluster) return this.#refuse(WRONG_NAME)
    this.#at = 'challenged'
    return wait(encodeChallenge(this.#side))
  }

  #proved(proof: Uint8Array | Refused | string, greeting: Greeting): Step {
    if (typeof proof === 'string') return this.#refuse(malformed(proof))
    if ('ok' in proof) return this.#refuse(malformed('a handshake must come first'))
    const { id, tokens } = this.#ports.self()
    const { cluster, from, to } = greeting
    const { channel } = this.#ports
    const inputs: ProofInputs = { cluster, from, to, dialled: greeting, answered: this.#side, channel }
    const proven = provenWith(tokens, 'the one who dials', inputs, proof)
    if (proven === false) return this.#refuse(WRONG_PROOF)
    const reason = this.#ports.whyNotNamed(from)
    if (reason !== undefined) return this.#refuse({ code: 'ERR_UNAUTHORIZED', reason, trusted: false })
    if (to !== id) return this.#refuse(notForUs(id, to))
    this.#at = 'proved'
    return wait(encodeProof(proofOf(proven.token, 'the one who was dialled', inputs)))
  }

  #helloReceived(frame: Uint8Array, greeting: Greeting): Step {
    const info = decodeHello(frame, versionOf(greeting, this.#side))
    if (typeof info === 'string') return this.#refuse(malformed(info))
    const self = this.#ports.self()
    const verdict = judgeHello(self, greeting.from, info, this.#ports.admit)
    if (isRefusal(verdict)) return this.#refuse(verdict, info)
    this.#at = 'over'
    const send = encodeWelcome(self, verdict.version, this.#ports.missing(verdict.id))
    return verdict.asks === true ? { next: 'identified', send } : { next: 'admitted', send, info: verdict }
  }

  #refuse(refusal: Refusal, info?: PeerInfo): Step {
    this.#at = 'over'
    const sent = refusal.trusted ? info : undefined
    return { next: 'refused', by: 'us', refusal, id: this.#greeting?.from, info: sent }
  }
}

const wait = (send: Uint8Array): Step => ({ next: 'wait', send })
