// Test: the revisions that reads return, for the section "List, then watch" of docs/guarantees.md.

import { expect, test } from 'vitest'
import { onEveryStore } from './testing/every-store.js'
import { all, code, take } from './testing/small-test-functions.js'

const as = { as: 'string' } as const

onEveryStore((at) => {
  test('scan, getEntry and the iterators return the revision of the read', async () => {
    await at.store.put(at.key('a'), '1')
    const { revision } = await at.other.put(at.key('b'), '2')
    const range = { prefix: at.key('') }
    const rows = await at.store.scan(range, as)
    const entry = await at.store.getEntry(at.key('a'), as)
    const iterators = [at.store.entries(range), at.store.keys(range), at.store.values(range)]
    const told = await Promise.all(iterators.map((iterator) => iterator.revision))
    expect([rows.revision, entry?.revision, ...told].every((seen) => (seen ?? 0) >= revision)).toBe(true)
    expect(entry?.modRevision).toBe(revision - 1)
    for (const iterator of iterators) expect(await all<unknown>(iterator as never)).toHaveLength(2)
    expect(Object.keys(rows)).toEqual(['0', '1'])
  })

  test('an empty range, a limit of 0 and an absent key: the scan has a revision', async () => {
    const { revision } = await at.store.put(at.key('a'), '1')
    const absent = at.key('absent')
    expect(await at.store.getEntry(absent)).toBeUndefined()
    for (const range of [
      { prefix: absent },
      { gte: absent, lte: absent },
      { limit: 0 },
      { gte: 'b', lt: 'a' },
    ]) {
      const rows = await at.store.scan(range)
      expect([rows.length, rows.revision >= revision]).toEqual([0, true])
    }
  })

  test('C60: the revision of a list is that of the view of its rows, while writes go on', async () => {
    const key = at.key('a')
    const valueAt: number[] = []
    let writing = true
    const writes = (async () => {
      for (let n = 0; n < 150; n++) valueAt[(await at.store.put(key, `${n}`)).revision] = n
      writing = false
    })()
    const seen: { value: string | undefined; revision: number }[] = []
    while (writing) {
      const rows = await at.other.scan({ prefix: key }, as)
      seen.push({ value: rows[0]?.value as string | undefined, revision: rows.revision })
      const entry = await at.other.getEntry(key, as)
      if (entry) seen.push({ value: entry.value as string, revision: entry.revision })
    }
    await writes
    for (const { value, revision } of seen) {
      const last = valueAt.findLast((_, at) => at <= revision)
      expect({ value, revision }).toEqual({ value: last === undefined ? undefined : `${last}`, revision })
    }
  })

  test('a watch from the revision after a list misses nothing and repeats nothing', async () => {
    const writes = Array.from({ length: 100 }, (_, n) => at.other.put(at.key(`${n}`), `${n}`))
    const rows = await at.store.scan({ prefix: at.key('') }, as)
    const watch = at.store.watch({ prefix: at.key(''), from: rows.revision + 1 }, as)
    await Promise.all(writes)
    const events = await take(watch, 100 - rows.length)
    const keys = [...rows, ...events].map(({ key }) => key as string)
    expect(keys.length).toBe(new Set(keys).size)
    expect(keys.toSorted()).toEqual(Array.from({ length: 100 }, (_, n) => at.key(`${n}`)).toSorted())
    await watch.return?.()
  })

  test('the revision of an iteration that ended before it began is ERR_ABORTED', async () => {
    const keys = at.store.keys()
    await keys.return?.()
    await expect(keys.revision).rejects.toMatchObject(code('ERR_ABORTED'))
  })
})
