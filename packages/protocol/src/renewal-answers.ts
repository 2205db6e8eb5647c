// Rule: the answer to many renewals, one owner each. It is sent, and kept by every member, in a shorter form
// (RenewResult): one command renews ten thousand locks, and ten thousand owners would be as long as the
// request.

import { elementAt } from '@latchkey/base'
import type { RenewalArg } from './operations.js'
import { OWNER_CODES, type OwnerResult, type RenewResult } from './results.js'
import { KEEP_LEASE_SUCCESS } from './lock-types.js'

const KEEP_LEASE = OWNER_CODES.indexOf('KEEP_LEASE')

/** What was asked for in `list` was answered so. */
export function renewedOwners(list: readonly RenewalArg[], [now, items]: RenewResult): OwnerResult[] {
  return items.map((item, i) => {
    if (typeof item !== 'number') return item
    const [, id, token] = elementAt(list, i)
    return [id, now + item, KEEP_LEASE_SUCCESS, token, 1, null, KEEP_LEASE, now]
  })
}
