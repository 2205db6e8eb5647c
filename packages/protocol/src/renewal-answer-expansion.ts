// Rule: expands the answer to a renew command into one owner for each hold. The answer itself is shorter
// (RenewResult), because one command renews up to 2,048 holds.

import { elementAt } from '@latchkey/base'
import type { RenewalArg } from './command-and-read-wire-types.js'
import { OWNER_CODES, type OwnerResult, type RenewResult } from './result-wire-types.js'
import { KEEP_LEASE_SUCCESS } from './lock-and-latch-types.js'

const KEEP_LEASE = OWNER_CODES.indexOf('KEEP_LEASE')

export function renewedOwners(list: readonly RenewalArg[], [now, items]: RenewResult): OwnerResult[] {
  return items.map((item, i) => {
    if (typeof item !== 'number') return item
    const [, id, token] = elementAt(list, i)
    return [id, now + item, KEEP_LEASE_SUCCESS, token, 1, null, KEEP_LEASE, now]
  })
}
