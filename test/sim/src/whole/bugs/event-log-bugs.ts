// Rule: known bugs of the event log.

import { edit, type WholeBug } from './bug.js'

/** Files that are soon full and soon empty, and a state that is written often. */
const BUSY = { eventLogBytes: 300, events: 20, flushMillis: 5, members: 3, faults: 2 } as const

export const eventLogBugs: readonly WholeBug[] = [
  {
    name: 'the event log is not synced before the rows are written',
    ids: ['D8'],
    changes: [edit('kv/storage/event-log', 'if (sync) await file.sync();', '')],
    profile: 'power',
    seeds: 50,
  },
  {
    name: 'the event log does not sync its folder after a new file',
    ids: ['D7'],
    changes: [edit('kv/storage/event-log', 'await disk.sync(folder);', '')],
    profile: 'power',
    seeds: 50,
    options: BUSY,
  },
  {
    name: 'the member removes an event file that LevelDB still needs after a crash',
    ids: ['S15'],
    changes: [
      edit(
        'kv/storage/event-log',
        'file.number < validEnd.first',
        'file.number < (this.#files.find((one) => one.live > 0)?.number ?? this.#tail.number)',
      ),
    ],
    profile: 'power',
    seeds: 50,
    options: BUSY,
  },
]
