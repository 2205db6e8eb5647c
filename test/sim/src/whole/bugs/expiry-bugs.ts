// Rule: known bugs of keys with a ttl, and of keys that are bound to a session.

import { binary } from '@latchkey/base'
import { type Expiry, expiryOf } from '../../../../../packages/kv/dist/state/key-value-row-format.js'
import type { WholeBug } from './bug.js'
import { readingOfMember, REMEMBER_CLOCK } from './member-clock.js'
import { inExpiryIndex, inExpiryRows, inKeyExpiry, inWriteSet } from './product-exports.js'

const OPTIONS = { members: 3, think: 60 } as const
const THREE_SECONDS = 3_000

export const expiryBugs: readonly WholeBug[] = [
  {
    name: 'a key expires by the clock of one member',
    ids: ['A1', 'A19'],
    changes: [
      REMEMBER_CLOCK,
      inKeyExpiry('neededExpiry', (real) => (state, now) => real(state, now + readingOfMember())),
    ],
    workload: 'expiry',
    seeds: 50,
    options: OPTIONS,
  },
  {
    name: 'a key expires after nine tenths of its ttl',
    ids: ['A19'],
    changes: [inExpiryRows('expiryAfter', (real) => (now, ttl) => real(now, Math.ceil(ttl * 0.9)))],
    workload: 'expiry',
    seeds: 50,
    options: OPTIONS,
  },
  {
    name: 'the state machine looks for expired keys only every three seconds',
    ids: ['A19'],
    changes: [
      inKeyExpiry('neededExpiry', (real) => (state, now) => {
        const { expiryIndex, meta } = state
        const isFirst = Math.floor(now / THREE_SECONDS) > Math.floor(meta.position.time / THREE_SECONDS)
        return isFirst || meta.expiring || expiryIndex.hasOver() ? real(state, now) : undefined
      }),
    ],
    workload: 'expiry',
    seeds: 50,
    options: OPTIONS,
  },
  {
    name: 'a put without a ttl keeps the ttl of the earlier put',
    ids: ['A20'],
    changes: [
      inWriteSet(
        'WriteSet',
        (Real) =>
          class extends Real {
            override put(key: Uint8Array, value: Uint8Array, expiry?: Expiry) {
              const before = this.row(binary(key))
              super.put(key, value, expiry ?? (before && expiryOf(before)))
            }
          },
      ),
    ],
    workload: 'expiry',
    seeds: 50,
    options: OPTIONS,
  },
  {
    name: 'a key that is bound to a session outlives the session',
    ids: ['A21'],
    changes: [
      inExpiryIndex(
        'KeyExpiryIndex',
        (Real) =>
          class extends Real {
            override sessionOver() {}
          },
      ),
    ],
    workload: 'expiry',
    seeds: 50,
    options: { ...OPTIONS, sessionLife: 1_500 },
  },
  {
    name: 'after a restart, a member forgets when keys expire',
    ids: ['A23'],
    changes: [
      inExpiryIndex(
        'KeyExpiryIndex',
        (Real) =>
          class extends Real {
            override async load(...args: Parameters<InstanceType<typeof Real>['load']>) {
              await super.load(...args)
              this.nextIs(undefined)
            }
          },
      ),
    ],
    workload: 'expiry',
    seeds: 100,
    options: { ...OPTIONS, faults: 2, flushMillis: 5 },
  },
]
