// Driver: runs a test on every kind of store: of a single member, of a leader, of a follower, and a remote
// store.

import type { Store } from '@latchkey/client'
import { afterAll, beforeAll, beforeEach, describe } from 'vitest'
import { open } from '../../open/index.js'
import { tempFolders } from './free-ports-and-temporary-folders.js'
import { openTrio, type Trio } from './three-embedded-members.js'

const KINDS = ['one in memory', 'one on disk', 'leader of three', 'follower', 'remote'] as const
type Kind = (typeof KINDS)[number]

export interface At {
  readonly kind: Kind
  readonly store: Store
  /** Another store with the same data. If only one store has the data, it is the same store. */
  readonly other: Store
  /** Returns a key that no other test uses. */
  key(name?: string): string
}

/**
 * Call this function once in a test file. The stores open before the tests of the file, and close after these
 * tests.
 */
export function onEveryStore(run: (at: At) => void, kinds: readonly Kind[] = KINDS): void {
  const stores = {} as Record<Kind, Store>
  const folder = tempFolders()
  let trio: Trio | undefined
  beforeAll(async () => {
    const [memory, disk, three] = await Promise.all([
      open({ id: 'a', memory: true }),
      open({ id: 'a', dir: folder() }),
      openTrio(folder()),
    ])
    trio = three
    stores['one in memory'] = memory
    stores['one on disk'] = disk
    stores['leader of three'] = await three.leader()
    stores.follower = await three.follower()
    stores.remote = await three.connect()
    await Promise.all(Object.values(stores).map((store) => store.ready({ timeout: '30s' })))
  })
  afterAll(async () => {
    await stores.remote?.close()
    await Promise.all([stores['one in memory']?.close(), stores['one on disk']?.close(), trio?.close()])
  })
  describe.each(kinds)('%s', (kind) => run(atStore(stores, kind)))
}

const OTHER: Record<Kind, Kind> = {
  'one in memory': 'one in memory',
  'one on disk': 'one on disk',
  'leader of three': 'follower',
  follower: 'remote',
  remote: 'leader of three',
}

function atStore(stores: Record<Kind, Store>, kind: Kind): At {
  let tests = 0
  beforeEach(() => {
    tests++
  })
  return {
    kind,
    get store() {
      return stores[kind]
    },
    get other() {
      return stores[OTHER[kind]]
    },
    key: (name = 'key') => `${KINDS.indexOf(kind)}/${tests}/${name}`,
  }
}
