// Test: a member loses its disk. With an empty directory it is no member any more, so it is removed and joins
// again.

import { rm } from 'node:fs/promises'
import { connect } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { latchkey } from '@latchkey/test-chaos/command'
import { underLoad } from '@latchkey/test-chaos/load'
import { until } from '@latchkey/test-chaos/until'
import { afterAll, beforeAll, expect, test } from 'vitest'

let cluster: Cluster

beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())

const ok = async (...args: string[]) =>
  expect(await latchkey(args, cluster.urls).ended).toMatchObject({ code: 0 })

/** Step by step what `members replace ID ID` of docs/operations.md does. */
async function replaceDisk(id: string): Promise<void> {
  const member = cluster.get(id)
  await ok('members', 'remove', id)
  await rm(member.options.dir, { recursive: true, force: true })
  member.start({ flags: ['--join'] })
  await ok('members', 'add', id, member.url)
  await until(`${id} is promoted`, async () => {
    const { code } = await latchkey(['members', 'promote', id], cluster.urls).ended
    return code === 0
  })
  await member.ready()
}

test('M13: a wiped member does not come back as the one it was; replaced, it has everything', async () => {
  const store = await connect(cluster.urls, { as: 'string' })
  const report = await underLoad(cluster.urls, async (load) => {
    await load.more(30)
    const wiped = cluster.get('b')
    await wiped.kill()
    await rm(wiped.options.dir, { recursive: true, force: true })
    wiped.start()
    expect(await wiped.exited()).toBe(1)
    expect(wiped.output).toContain('ERR_WRONG_CLUSTER')
    await load.more(30)
    await replaceDisk('b')
    await load.more(30)
  })
  expect(report.errors).toEqual([])
  expect(report.faults).toEqual([])
  // It counts again: with another member gone it makes the majority.
  await cluster.get('c').kill()
  await store.put('with', 'b', { timeout: '60s' })
  expect(await (await connect([cluster.get('b').url], { as: 'string' })).get('with')).toBe('b')
  cluster.get('c').start()
  await cluster.ready()
  await store.close()
})

test('M17: all members are replaced, one after the other, under load', async () => {
  const store = await connect(cluster.urls, { as: 'string' })
  await store.put('from', 'the first three')
  const report = await underLoad(cluster.urls, async (load) => {
    for (const { id } of [...cluster.members]) {
      await load.more(20)
      const member = cluster.get(id)
      expect(await member.stop()).toBe(0)
      await replaceDisk(id)
    }
    await load.more(20)
  })
  expect(report.errors).toEqual([])
  expect(report.faults).toEqual([])
  expect(await store.get('from')).toBe('the first three')
  await store.close()
})
