// Rule: counts the waiting callers of a store, for its metrics.

import type { LockPort } from './lock-port-interface.js'

export async function waiting<T>({ counts }: LockPort, until: Promise<T>): Promise<T> {
  if (counts === undefined) return until
  counts.waiting++
  try {
    return await until
  } finally {
    counts.waiting--
  }
}
