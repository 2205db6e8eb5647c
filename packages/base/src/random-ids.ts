// Driver: makes random ids from a pool of random bytes. A system call for each id would take twenty times as
// long.

import { randomFillSync } from 'node:crypto'

const BYTES = 16
const pool = Buffer.alloc(BYTES * 256)
let next = pool.length

/** Returns 128 random bits as hexadecimal text. */
export function newId(): string {
  if (next === pool.length) {
    randomFillSync(pool)
    next = 0
  }
  next += BYTES
  return pool.toString('hex', next - BYTES, next)
}
