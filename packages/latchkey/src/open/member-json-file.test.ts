// Test: member.json keeps the addresses that a member has learned, each once, and the newest 256 of them.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { claimDirectory, isClaimed, ownerOf } from './member-json-file.js'

const OWNER = { id: 'a', cluster: 'latchkey' }

async function folder() {
  const dir = await mkdtemp(join(tmpdir(), 'latchkey-member-json-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const known = async () =>
    (JSON.parse(await readFile(join(dir, 'member.json'), 'utf8')) as { known: string[] }).known
  return { dir, known }
}

test('an address is kept once, a former address stays, and an empty one is none', async () => {
  const { dir, known } = await folder()
  expect([await isClaimed(dir), await ownerOf(dir)]).toEqual([false, undefined])
  const own = await claimDirectory(dir, OWNER)
  expect([await isClaimed(dir), await ownerOf(dir), await known()]).toEqual([true, OWNER, []])
  await own.learn({ a: 'ws://a:1', b: '', c: 'ws://c:1' })
  await own.learn({ a: 'ws://a:1', b: '', c: 'ws://c:2' })
  await own.learn({ b: '' })
  expect(await known()).toEqual(['a ws://a:1', 'c ws://c:1', 'c ws://c:2'])
  const again = await claimDirectory(dir, OWNER)
  expect(again.born).toBe(own.born)
  expect([again.knows('c', 'ws://c:1'), again.knows('c', 'ws://c:3'), again.knows('b', '')]).toEqual([
    true,
    false,
    false,
  ])
})

test('the oldest addresses are dropped, and writes come one after the other', async () => {
  const { dir, known } = await folder()
  const own = await claimDirectory(dir, OWNER)
  const urls = Array.from({ length: 299 }, (_, i) => [`m${i}`, `ws://m${i}:1`])
  void own.learn(Object.fromEntries(urls) as Record<string, string>)
  void own.learn({ last: 'ws://last:1' })
  await own.written()
  const kept = await known()
  expect([kept.length, kept[0], kept.at(-1)]).toEqual([256, 'm44 ws://m44:1', 'last ws://last:1'])
})

test('another owner is refused, and so is a damaged file', async () => {
  const { dir } = await folder()
  await claimDirectory(dir, OWNER)
  for (const other of [
    { ...OWNER, id: 'b' },
    { ...OWNER, cluster: 'other' },
  ])
    await expect(claimDirectory(dir, other)).rejects.toMatchObject({ code: 'ERR_WRONG_CLUSTER' })
  const path = join(dir, 'member.json')
  const text = await readFile(path, 'utf8')
  for (const damaged of [text.replace('"a"', '"b"'), text.slice(0, -3), '', 'null']) {
    await writeFile(path, damaged)
    await expect(claimDirectory(dir, OWNER)).rejects.toMatchObject({ code: 'ERR_CORRUPT' })
  }
})
