// Rule: known bugs of the event log.

import { nodeEventLogDisk } from '../../../../../packages/kv/dist/storage/event-log-file-system.js'
import { like } from '../../run/changed-packages.js'
import type { WholeBug } from './bug.js'
import { inEventLog, inRowsWithEventLog } from './product-exports.js'

/** Small files and few kept events, so files are removed often. The state is written every 5 ms. */
const BUSY = { eventLogBytes: 300, events: 20, flushMillis: 5, members: 3, faults: 2 } as const

export const eventLogBugs: readonly WholeBug[] = [
  {
    name: 'the event log is not synced before the rows are written',
    ids: ['D8'],
    changes: [
      inRowsWithEventLog(
        'RowsWithEventLog',
        (Real) =>
          class extends Real {
            constructor(...[level, eventLog]: ConstructorParameters<typeof Real>) {
              super(level, like(eventLog, { append: (rows) => eventLog.append(rows, false) }))
            }
          },
      ),
    ],
    workload: 'power',
    seeds: 50,
  },
  {
    name: 'the event log does not sync its folder after a new file',
    ids: ['D7'],
    changes: [
      inEventLog('EventLog', (Real) =>
        like(Real, {
          create: (folder, disk = nodeEventLogDisk) => Real.create(folder, { ...disk, sync: async () => {} }),
          open: (folder, reach, disk = nodeEventLogDisk) =>
            Real.open(folder, reach, { ...disk, sync: async () => {} }),
        }),
      ),
    ],
    workload: 'power',
    seeds: 50,
    options: BUSY,
  },
  {
    name: 'the member removes an event file that LevelDB still needs after a crash',
    ids: ['S15'],
    changes: [
      inRowsWithEventLog(
        'RowsWithEventLog',
        (Real) =>
          class extends Real {
            constructor(...[level, eventLog]: ConstructorParameters<typeof Real>) {
              // LevelDB learns one batch too late which file is the first.
              let { first } = eventLog.validEnd
              const late = {
                get validEnd() {
                  const now = eventLog.validEnd
                  const before = { ...now, first }
                  first = now.first
                  return before
                },
              }
              super(level, like(eventLog, late))
            }
          },
      ),
    ],
    workload: 'power',
    seeds: 50,
    options: BUSY,
  },
]
