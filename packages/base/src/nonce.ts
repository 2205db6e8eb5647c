// Driver: asks the system for bytes that nobody can guess.

import { randomBytes } from 'node:crypto'

export const NONCE_BYTES = 32

/** From the system and not from a seeded generator: who has seen some numbers of that one knows all that follow. */
export const newNonce = (): Uint8Array => randomBytes(NONCE_BYTES)
