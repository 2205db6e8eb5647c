// Driver: makes nonces: random bytes from the system that nobody can guess.

import { randomBytes } from 'node:crypto'

export const NONCE_BYTES = 32

/**
 * The bytes come from the operating system. A seeded generator would be unsafe, because an attacker can
 * compute its next numbers from some earlier numbers.
 */
export const newNonce = (): Uint8Array => randomBytes(NONCE_BYTES)
