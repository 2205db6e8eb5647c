// Driver: makes nonces: random bytes from the system that nobody can guess.

import { randomBytes } from 'node:crypto'

export const NONCE_BYTES = 32

/**
 * The bytes come from the system. A seeded generator would be unsafe: from some of its numbers an attacker
 * can compute all that follow.
 */
export const newNonce = (): Uint8Array => randomBytes(NONCE_BYTES)
