// Rule: the answer to many renewals, which has one owner for each. The answer is sent, and kept by every
// member, in a shorter form (RenewResult). One command renews up to ten thousand locks, and that many whole
// owners would make the answer as long as the request.

import { elementAt } from '@latchkey/base'
import type { RenewalArg } from './operations.js'
import { OWNER_CODES, type OwnerResult, type RenewResult } from './results.js'
import { KEEP_LEASE_SUCCESS } from './lock-types.js'

const KEEP_LEASE = OWNER_CODES.indexOf('KEEP_LEASE')

/** Returns the owner for each renewal of `list`, which was answered with the given RenewResult. */
export function renewedOwners(list: readonly RenewalArg[], [now, items]: RenewResult): OwnerResult[] {
  return items.map((item, i) => {
    if (typeof item !== 'number') return item
    const [, id, token] = elementAt(list, i)
    return [id, now + item, KEEP_LEASE_SUCCESS, token, 1, null, KEEP_LEASE, now]
  })
}
