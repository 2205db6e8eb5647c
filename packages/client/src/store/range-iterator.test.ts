// Test: a range is read page by page from one frozen state, even if the link changes meanwhile.

import { compareBytes, utf8 } from '@latchkey/base'
import { type Answer, READ, errorAnswer, okAnswer } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import type { FakeCluster, FakeLink } from '../testing/fake-cluster.js'
import { codeOf, follow, scene } from '../testing/stores-on-fake-cluster.js'

/** The first view has the revision after this one. */
const REVISION = 40

/** Serves pages of `rows` rows from views that end with their link. */
function serveViews(cluster: FakeCluster, rows: number) {
  const views = new Map<
    number,
    { link: FakeLink; revision: number; rows: (readonly [Uint8Array, Uint8Array])[] }
  >()
  const stats = { opened: 0, closed: 0, pages: 0 }
  const data = new Map<string, string>()
  cluster.page = (link, { read }): Answer | undefined => {
    if (read[0] === READ.closeView) {
      stats.closed++
      views.delete(read[1])
      return okAnswer(true)
    }
    if (read[0] !== READ.page) return undefined
    const [, asked, keep, start, end, reverse, limit, part] = read
    let id = asked
    if (id === 0) {
      id = ++stats.opened
      const all = [...data].map(([key, value]) => [utf8(key), utf8(value)] as const)
      views.set(id, {
        link,
        revision: REVISION + stats.opened,
        rows: all.sort((a, b) => compareBytes(a[0], b[0])),
      })
    }
    const view = views.get(id)
    if (!view || view.link !== link) return errorAnswer('ERR_COMPACTED')
    stats.pages++
    const within = view.rows.filter(
      ([key]) => (!start || compareBytes(key, start) >= 0) && (!end || compareBytes(key, end) < 0),
    )
    if (reverse) within.reverse()
    const page = within.slice(0, Math.min(limit, rows))
    const over = page.length === within.length
    if (over || !keep) views.delete(id)
    return okAnswer([
      over || !keep ? 0 : id,
      page.map(([key, value]) => [key, part === 'keys' ? null : value]),
      view.revision,
    ])
  }
  return { views, stats, data }
}

function filled(count: number, rows = 7) {
  const all = scene('views', ['a', 'b'])
  const served = serveViews(all.cluster, rows)
  for (let at = 0; at < count; at++) served.data.set(`k${String(at).padStart(3, '0')}`, `${at}`)
  return { ...all, ...served }
}

const names = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => `k${String(from + at).padStart(3, '0')}`)

test('R9: all pages of an iteration are of one view, also when the data changes and the leader moves', async () => {
  const { world, cluster, store, data, stats, views } = filled(50)
  const client = store({ as: 'string' })
  const seen: string[] = []
  const all = follow(
    (async () => {
      for await (const { key, value } of client.entries({ prefix: 'k' })) {
        seen.push(key as string)
        expect(value).toBe(String(Number((key as string).slice(1))))
        if (seen.length === 10) data.set('k0101', 'new')
        if (seen.length === 20) cluster.elect('b')
      }
    })(),
  )
  await world.run(2_000)
  expect(codeOf(all)).toBe('ok')
  expect(seen).toEqual(names(0, 50))
  expect([stats.opened, views.size]).toEqual([1, 0])
  await world.run(100)
  expect([...cluster.links].map((link) => link.url)).toEqual(['b'])
})

test('at most one page is requested ahead, and an abandoned view is closed after it', async () => {
  const { world, store, stats, views } = filled(50)
  const client = store({ as: 'string' })
  const some = follow(
    (async () => {
      for await (const key of client.keys()) if (key === 'k009') break
    })(),
  )
  await world.run(500)
  expect(codeOf(some)).toBe('ok')
  expect([stats.opened, stats.pages, stats.closed, views.size]).toEqual([1, 3, 1, 0])
})

test('limits, reverse, keysOnly, values', async () => {
  const { world, store, views } = filled(50)
  const client = store({ as: 'string' })
  const ask = async <T>(promise: Promise<T>) => {
    const seen = follow(promise)
    await world.run(500)
    if (seen.fate.is !== 'ok') throw new Error(codeOf(seen))
    return seen.fate.value
  }
  const keys = async (range: Parameters<typeof client.scan>[0]) =>
    (await ask(client.scan(range))).map(({ key }) => key as string)
  expect(await keys({ limit: 0 })).toEqual([])
  expect(await keys({ limit: 1 })).toEqual(['k000'])
  expect(await keys({ limit: 9 })).toEqual(names(0, 9))
  expect(await keys({ limit: 14 })).toEqual(names(0, 14))
  expect(await keys({ gt: 'k010', lte: 'k030' })).toEqual(names(11, 31))
  expect(await keys({ gte: 'k010', lt: 'k030', reverse: true, limit: 15 })).toEqual(names(15, 30).reverse())
  expect(await keys({ gte: 'x', lt: 'b' })).toEqual([])
  expect(await ask(client.scan({ limit: 1, keysOnly: true }))).toEqual([{ key: 'k000', value: undefined }])
  const values: unknown[] = []
  const read = follow(
    (async () => {
      for await (const value of client.values({ limit: 3 })) values.push(value)
    })(),
  )
  await world.run(500)
  expect([codeOf(read), values]).toEqual(['ok', ['0', '1', '2']])
  expect(views.size).toBe(0)
})

test('a lost view: an iteration that has returned rows ends with an error; another one begins again, and so does a scan', async () => {
  const { world, cluster, store, stats } = filled(50)
  const client = store({ as: 'string' })
  const seen: string[] = []
  const broken = follow(
    (async () => {
      for await (const key of client.keys()) {
        seen.push(key as string)
        if (seen.length === 10) for (const link of [...cluster.links]) link.break()
      }
    })(),
  )
  await world.run(2_000)
  expect(codeOf(broken)).toBe('ERR_COMPACTED')
  expect(broken.fate.is === 'failed' && (broken.fate.error as { retryable?: boolean }).retryable).toBe(true)
  expect(seen).toEqual(names(0, 14))

  const opened = stats.opened
  const scan = follow(client.scan({}))
  world.after(9, () => {
    for (const link of [...cluster.links]) link.break()
  })
  await world.run(2_000)
  expect(scan.fate).toMatchObject({ is: 'ok' })
  expect(scan.fate.is === 'ok' && scan.fate.value.map(({ key }) => key as string)).toEqual(names(0, 50))
  expect(stats.opened).toBeGreaterThan(opened + 1)
})

test('a signal between rows, and close between pages', async () => {
  const { world, store } = filled(50)
  const client = store({ as: 'string' })
  const stop = new AbortController()
  const aborted = follow(
    (async () => {
      for await (const key of client.keys({}, { signal: stop.signal })) if (key === 'k002') stop.abort()
    })(),
  )
  const closed = follow(
    (async () => {
      for await (const key of client.keys()) if (key === 'k009') await client.close()
    })(),
  )
  await world.run(500)
  expect([codeOf(aborted), codeOf(closed)]).toEqual(['ERR_ABORTED', 'ERR_CLOSED'])
})

test('a scan has the revision of its view, as a property that JSON and loops ignore', async () => {
  const { world, store } = filled(20)
  const scan = follow(store({ as: 'string' }).scan({ limit: 9 }))
  await world.run(500)
  if (scan.fate.is !== 'ok') throw new Error(codeOf(scan))
  const rows = scan.fate.value
  expect([rows.length, rows.revision, Object.keys(rows).length]).toEqual([9, REVISION + 1, 9])
  expect(JSON.parse(JSON.stringify(rows))).toEqual(names(0, 9).map((key, at) => ({ key, value: `${at}` })))
})

test('the revision of an iterator opens its view, and the rows are of that view', async () => {
  const { world, store, stats, data } = filled(20)
  const keys = store({ as: 'string' }).keys()
  await world.run(100)
  expect(stats.opened).toBe(0)
  const revision = follow(keys.revision)
  await world.run(100)
  expect(revision.fate).toEqual({ is: 'ok', value: REVISION + 1 })
  data.set('k0000', 'new')
  const seen: unknown[] = []
  const all = follow(
    (async () => {
      for await (const key of keys) seen.push(key)
    })(),
  )
  await world.run(500)
  expect([codeOf(all), seen, stats.opened]).toEqual(['ok', names(0, 20), 1])
  expect(await keys.revision).toBe(REVISION + 1)
})

test('R9: after its revision was read, an iterator whose view is lost ends, and does not continue in another view', async () => {
  const { world, cluster, store, stats } = filled(20)
  const values = store({ as: 'string' }).values()
  const revision = follow(values.revision)
  while (revision.fate.is === 'pending') await world.run(1)
  for (const link of [...cluster.links]) link.break()
  const all = follow(
    (async () => {
      let last: unknown
      for await (const value of values) last = value
      return last
    })(),
  )
  await world.run(2_000)
  expect([codeOf(all), stats.opened]).toEqual(['ERR_COMPACTED', 1])
})

test('the revision of an iteration that cannot begin rejects, and is no unhandled rejection if nobody asks', async () => {
  const { world, store, stats } = filled(20)
  const client = store()
  const [returned, failed] = [client.keys(), client.keys()]
  await returned.return?.()
  const first = follow(returned.revision)
  await client.close()
  const reading = follow(failed.next())
  await world.run(100)
  expect([codeOf(first), codeOf(reading)]).toEqual(['ERR_ABORTED', 'ERR_CLOSED'])
  expect(codeOf(follow(failed.revision))).toBe('pending')
  await expect(failed.revision).rejects.toMatchObject({ code: 'ERR_CLOSED' })
  expect(stats.opened).toBe(0)
})
