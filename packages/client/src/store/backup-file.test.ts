// Test: a backup file gets its final name only when it is complete and synced, and a failed backup leaves no
// file.

import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Answer, READ, errorAnswer, okAnswer } from '@latchkey/protocol'
import { afterEach, expect, test, vi } from 'vitest'
import type { FakeLink } from '../testing/fake-cluster.js'
import { scene } from '../testing/stores-on-fake-cluster.js'

const folders: string[] = []
afterEach(() => {
  vi.restoreAllMocks()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'latchkey-backup-'))
  folders.push(made)
  return made
}

const PIECES = [Buffer.alloc(70_000, 1), Buffer.alloc(1, 2), Buffer.alloc(30_000, 3)]
const WHOLE = Buffer.concat(PIECES)

/**
 * Members that serve these pieces, each from a view of its own. Files are real, so real time passes together
 * with the world's time.
 */
async function serving(pieces: readonly Buffer[] = PIECES, total = WHOLE.length) {
  const { world, cluster, store } = scene('backup', ['a', 'b'])
  const client = store()
  await world.run(50)
  const stats = { opened: 0, closed: [] as number[], asked: [] as number[] }
  const views = new Map<number, { link: FakeLink; next: number }>()
  cluster.page = (link, { read }): Answer | undefined => {
    if (read[0] === READ.closeView) {
      stats.closed.push(read[1])
      views.delete(read[1])
      return okAnswer(true)
    }
    if (read[0] !== READ.backup) return undefined
    const id = read[1] === 0 ? 40 + ++stats.opened : read[1]
    if (read[1] === 0) views.set(id, { link, next: 0 })
    stats.asked.push(id)
    const view = views.get(id)
    if (view?.link !== link) return errorAnswer('ERR_COMPACTED')
    const piece = pieces[view.next++]
    if (piece === undefined) views.delete(id)
    return okAnswer([piece === undefined ? 0 : id, piece ?? null, total])
  }
  const settled = async <T>(promise: Promise<T>): Promise<T | Error> => {
    let end: T | Error | undefined
    let over = false
    promise.then(
      (value) => ((end = value), (over = true)),
      (error: Error) => ((end = error), (over = true)),
    )
    while (!over) {
      await world.run(1)
      await new Promise((resolve) => void setTimeout(resolve, 1))
    }
    // Requests that were sent without waiting for their answers arrive in the meantime.
    await world.run(20)
    return end as T | Error
  }
  return { world, cluster, client, stats, settled }
}

// Without this law: the machine loses power a minute after the backup, and the backup's file is empty, full
// of zeros, or missing.
test('D7: the file gets its name after it is synced, and the folder is synced after that', async () => {
  const { client, stats, settled } = await serving()
  const dir = folder()
  const path = join(dir, 'file')
  const handle = await open(dir, 'r')
  const prototype = Object.getPrototypeOf(handle) as { sync(this: typeof handle): Promise<void> }
  await handle.close()
  const { sync } = prototype
  const synced: string[] = []
  vi.spyOn(prototype, 'sync').mockImplementation(async function (this: typeof handle) {
    const stat = await this.stat()
    synced.push(`${stat.isDirectory() ? 'folder' : `${stat.size} bytes`}, named ${existsSync(path)}`)
    await sync.call(this)
  })
  const seen: number[] = []
  expect(await settled(client.backup(path, { progress: (bytes) => seen.push(bytes) }))).toBeUndefined()
  expect(synced).toEqual([`${WHOLE.length} bytes, named false`, 'folder, named true'])
  expect(readFileSync(path).equals(WHOLE)).toBe(true)
  expect(seen).toEqual([70_000, 70_001, 100_001])
  expect(readdirSync(dir)).toEqual(['file'])
  // The last piece has ended the view.
  expect([stats.opened, stats.closed]).toEqual([1, []])
  // A second backup replaces the file only with `overwrite`.
  expect(await settled(client.backup(path))).toMatchObject({
    code: 'ERR_STORAGE_FAILED',
    outcome: 'not-applied',
  })
  expect(stats.opened).toBe(1)
  writeFileSync(path, 'before')
  expect(await settled(client.backup(path, { overwrite: true }))).toBeUndefined()
  expect(readFileSync(path).equals(WHOLE)).toBe(true)
})

// Without this law: a member that was cut off an hour ago answers, and the backup has no write of the last hour.
test('no request of a backup is a stale read', async () => {
  const { client, cluster, settled } = await serving()
  expect(await settled(client.backup(join(folder(), 'file')))).toBeUndefined()
  const reads = cluster.requests.flatMap((request) => (request.kind === 'read' ? [request] : []))
  expect(reads.map(({ read, stale }) => [read[0], stale])).toEqual(Array(4).fill([READ.backup, false]))
})

test('C35: an aborted backup closes its view at the member once, and leaves no file', async () => {
  const { client, cluster, stats, settled } = await serving()
  const dir = folder()
  const stop = new Error('enough')
  const progress = (bytes: number) => {
    if (bytes > 70_000) throw stop
  }
  expect(await settled(client.backup(join(dir, 'file'), { progress }))).toBe(stop)
  expect([stats.opened, stats.closed]).toEqual([1, [41]])
  expect(readdirSync(dir)).toEqual([])
  // The link is not needed by a view any more, so the store leaves it for a link to the next leader.
  cluster.elect('b')
  await settled(client.get('k'))
  expect([...cluster.links].map((link) => link.url)).toEqual(['b'])
})

test('if a piece is missing, there is no file', async () => {
  for (const total of [WHOLE.length - 1, WHOLE.length + 1]) {
    const { client, settled } = await serving(PIECES, total)
    const dir = folder()
    expect(await settled(client.backup(join(dir, 'file')))).toMatchObject({
      code: 'ERR_PROTOCOL',
      message: `The backup came with ${WHOLE.length} bytes of ${total}.`,
    })
    expect(readdirSync(dir)).toEqual([])
  }
  const empty = await serving([], 0)
  const path = join(folder(), 'file')
  expect(await empty.settled(empty.client.backup(path))).toBeUndefined()
  expect(readFileSync(path).length).toBe(0)
})

test('R9: a backup whose link breaks does not continue at another member: it fails as retryable, and leaves no file', async () => {
  const { client, cluster, stats, settled } = await serving()
  const dir = folder()
  const progress = () => {
    for (const link of [...cluster.links]) link.break()
  }
  expect(await settled(client.backup(join(dir, 'file'), { progress }))).toMatchObject({
    code: 'ERR_COMPACTED',
    retryable: true,
    message: expect.stringContaining('Start the backup again'),
  })
  expect([stats.opened, stats.asked]).toEqual([1, [41]])
  expect(readdirSync(dir)).toEqual([])
  expect(await settled(client.backup(join(dir, 'file')))).toBeUndefined()
})

test('a timeout limits the whole backup; without one each piece may take thirty seconds', async () => {
  // Each row: the time of one piece, the timeout, the time until the backup ends, and its error code;
  // undefined: it succeeds.
  for (const [each, timeout, code, least, most] of [
    [1_500, 2_000, 'ERR_TIMEOUT', 1_900, 3_500],
    [20_000, undefined, undefined, 80_000, 85_000],
    [40_000, undefined, 'ERR_TIMEOUT', 29_900, 33_000],
  ] as const) {
    const { client, cluster, world, stats } = await serving()
    const dir = folder()
    cluster.readDelay = each
    let end: { readonly code: string | undefined } | undefined
    client.backup(join(dir, 'file'), timeout === undefined ? {} : { timeout }).then(
      () => (end = { code: undefined }),
      (error: { code: string }) => (end = error),
    )
    // Files are real: while the test waits for them, hardly any of the simulated time passes.
    let took = 0
    while (end === undefined && took < 200_000) {
      const asked = cluster.requests.filter(({ kind }) => kind === 'read').length
      const step = asked > stats.asked.length ? 50 : 0.01
      await new Promise((resolve) => void setTimeout(resolve, 1))
      await world.run(step)
      if (asked > 0) took += step
    }
    expect([end?.code, took >= least, took <= most], `${each} each: ${took}`).toEqual([code, true, true])
    expect(readdirSync(dir)).toEqual(code === undefined ? ['file'] : [])
  }
})

test('wrong paths and options are refused before any request is sent', async () => {
  const { client, stats } = await serving()
  const path = join(folder(), 'file')
  for (const bad of ['', 5, undefined, null])
    await expect(client.backup(bad as string)).rejects.toThrow(/^path must be a string/)
  for (const overwrite of [1, 'yes', null])
    await expect(client.backup(path, { overwrite } as object)).rejects.toThrow(
      /^overwrite must be true or false/,
    )
  for (const progress of [1, 'yes', null])
    await expect(client.backup(path, { progress } as object)).rejects.toThrow(/^progress must be a function/)
  expect([stats.opened, existsSync(path)]).toEqual([0, false])
})
