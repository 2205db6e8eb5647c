// Rule: known bugs of the event log.

import { edit, type WholeBug } from './bug.js'

/** Files that are soon full and soon empty, and a state that is written often. */
const BUSY = { journalBytes: 300, events: 20, flushMillis: 5, members: 3, faults: 2 } as const

export const journalBugs: readonly WholeBug[] = [
  {
    name: 'a batch of events counts before it is synced',
    ids: ['D8'],
    patches: [edit('kv/storage/event-log', 'if (sync) await file.sync();', '')],
    profile: 'power',
    seeds: 50,
  },
  {
    name: 'the folder is not synced behind a new file of events',
    ids: ['D7'],
    patches: [edit('kv/storage/event-log', 'await disk.sync(folder);', '')],
    profile: 'power',
    seeds: 50,
    scene: BUSY,
  },
  {
    name: 'a file of events goes before it is known durably that it may',
    ids: ['S15'],
    patches: [
      edit(
        'kv/storage/event-log',
        'while (this.#files[0].number < reach.first)',
        'const first = this.#files.find((file) => file.live > 0)?.number ?? this.#tail.number; while (this.#files[0].number < first)',
      ),
    ],
    profile: 'power',
    seeds: 50,
    scene: BUSY,
  },
]
