// Rule: known bugs of idempotency keys.

import { utf8 } from '@latchkey/base'
import { OP } from '@latchkey/protocol'
import { rotate } from '../../../../../packages/lock/dist/rules/downgrade-proclaim-rotate.js'
import type { WholeBug } from './bug.js'
import { inApplyOnce, inHoldChanges, inOnceAnswers } from './product-exports.js'

export const idempotencyBugs: readonly WholeBug[] = [
  {
    name: 'the cluster keeps no answer for an idempotency key',
    ids: ['C73'],
    changes: [inOnceAnswers('keptRecordOf', () => () => undefined)],
    workload: 'idempotency',
    seeds: 20,
  },
  {
    name: 'the digest of a request ignores the arguments of the request',
    ids: ['C73'],
    changes: [
      inApplyOnce('appliedOnce', (real) => (command, keptAt) => {
        const made = real(command, keptAt)
        if (made[0] !== OP.applyOnce) return made
        const [op, [key, , life], inner] = made
        return [op, [key, utf8(`${inner[0]}`), life], inner]
      }),
    ],
    workload: 'idempotency',
    seeds: 20,
  },
  {
    name: 'a repeated rotation changes the token again',
    ids: ['C73', 'C76'],
    changes: [inHoldChanges('presentHold', () => rotate)],
    workload: 'idempotency',
    seeds: 20,
  },
]
