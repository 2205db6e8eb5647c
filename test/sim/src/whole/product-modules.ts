// Driver: loads a copy of the compiled packages, with or without changes. Each copy has its own modules, so a
// known bug has no effect on later runs.

import type * as createStore from '../../../../packages/client/dist/store/create-store.js'
import type * as clientClusterCheck from '../../../../packages/client/dist/wrong-cluster-check.js'
import type * as entryRecords from '../../../../packages/kv/dist/commands/log-entry-records.js'
import type * as stateMachine from '../../../../packages/kv/dist/key-value-state-machine.js'
import type * as lockTables from '../../../../packages/kv/dist/rules/tables-for-lock-rules.js'
import type * as eventLog from '../../../../packages/kv/dist/storage/event-log.js'
import type * as eventLogFormat from '../../../../packages/kv/dist/storage/event-log-file-format.js'
import type * as rowsWithEventLog from '../../../../packages/kv/dist/storage/level-and-event-log-row-store.js'
import type * as simulatedRows from '../../../../packages/kv/dist/storage/simulated-row-store.js'
import type * as eventLogOnDisk from '../../../../packages/kv/dist/testing/event-log-on-simulated-disk.js'
import type * as member from '../../../../packages/latchkey/dist/member/member.js'
import type * as rights from '../../../../packages/latchkey/dist/member/identity-and-rights.js'
import type * as inProcessLink from '../../../../packages/latchkey/dist/open/in-process-link.js'
import type * as watchdog from '../../../../packages/lock/dist/holding/renewing-watchdog.js'
import type * as clientFrames from '../../../../packages/protocol/dist/client-frame-codec.js'
import type * as simulatedDisk from '../../../../packages/raft/dist/memory/simulated-disk.js'
import type * as messageDecoder from '../../../../packages/raft/dist/net/message-decoder.js'
import type * as messageEncoder from '../../../../packages/raft/dist/net/message-encoder.js'
import type * as wal from '../../../../packages/raft/dist/wal/wal.js'
import { type Change, type LoadedModules, loadCopy } from '../run/changed-packages.js'

export type ProductModules = typeof createStore &
  typeof clientClusterCheck &
  typeof entryRecords &
  typeof stateMachine &
  typeof lockTables &
  typeof eventLog &
  typeof eventLogFormat &
  typeof rowsWithEventLog &
  typeof simulatedRows &
  typeof eventLogOnDisk &
  typeof member &
  typeof rights &
  typeof inProcessLink &
  typeof watchdog &
  typeof clientFrames &
  typeof simulatedDisk &
  typeof messageDecoder &
  typeof messageEncoder &
  typeof wal

export const loadProduct = (changes: readonly Change[] = []): Promise<LoadedModules<ProductModules>> =>
  loadCopy(
    {
      packages: ['base', 'protocol', 'raft', 'lock', 'kv', 'client', 'latchkey'],
      others: ['msgpackr', 'ws', 'classic-level', 'memory-level', 'abstract-level'],
      files: [
        'client/store/create-store',
        'client/wrong-cluster-check',
        'kv/commands/log-entry-records',
        'kv/key-value-state-machine',
        'kv/rules/tables-for-lock-rules',
        'kv/storage/event-log',
        'kv/storage/event-log-file-format',
        'kv/storage/level-and-event-log-row-store',
        'kv/storage/simulated-row-store',
        'kv/testing/event-log-on-simulated-disk',
        'latchkey/member/member',
        'latchkey/member/identity-and-rights',
        'latchkey/open/in-process-link',
        'lock/holding/renewing-watchdog',
        'protocol/client-frame-codec',
        'raft/memory/simulated-disk',
        'raft/net/message-decoder',
        'raft/net/message-encoder',
        'raft/wal/wal',
      ],
    },
    changes,
  )
