// Driver: makes nonces, which are random bytes that nobody can guess.

import { randomBytes } from 'node:crypto'

export const NONCE_BYTES = 32

/**
 * Returns random bytes from the operating system. An attacker could compute the numbers of a seeded generator
 * from some earlier numbers.
 */
export const newNonce = (): Uint8Array => randomBytes(NONCE_BYTES)
