// Driver: makes nonces, which are random bytes that nobody can guess.

import { randomBytes } from 'node:crypto'

export const NONCE_BYTES = 32

export const newNonce = (): Uint8Array => randomBytes(NONCE_BYTES)
