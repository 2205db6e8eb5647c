// Test: if clients need a token, nobody can act as a member without a proof.

import { connect, type Store } from '@latchkey/client'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { open } from './open.js'
import { openedInTest } from './testing/opened-stores-and-members.js'
import { addresses } from './testing/free-ports.js'

const { inFolder, later, opening } = openedInTest()

/** How the door for members answers one who has nothing to show. */
const membersDoor = (url: string): Promise<number | 'open'> =>
  new Promise((resolve) => {
    const socket = new WebSocket(`${url}/members`)
    socket.on('error', () => {})
    socket.on('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? 0)
      response.destroy()
    })
    socket.on('open', () => {
      resolve('open')
      socket.terminate()
    })
  })

const auth = { tokens: ['all', { token: 'reader', rights: ['read'] as const }] }

test('M21: one member with tokens and no member token: its door for members is shut, and no member can be added', async () => {
  const members = await addresses(['a'])
  const store = await opening({ id: 'a', memory: true, members, auth })
  await store.ready()
  expect(await membersDoor(members['a'] as string)).toBe(401)
  await expect(store.members.add('b', 'ws://127.0.0.1:1')).rejects.toMatchObject({
    code: 'ERR_FORBIDDEN',
    message: expect.stringContaining('--member-token'),
  })
  const remote = later(await connect([members['a'] as string], { token: 'all' }))
  await remote.put('k', 'v')
  await expect(remote.members.add('b', 'ws://127.0.0.1:1')).rejects.toMatchObject({ code: 'ERR_FORBIDDEN' })
  // With a member token members can come, without a restart.
  await store.reload({ auth: { ...auth, memberToken: 'm' } })
  await store.members.add('b', 'ws://127.0.0.1:1')
  expect(await membersDoor(members['a'] as string)).toBe('open')
})

test('M21: a directory whose log knows others is not opened with tokens alone', async () => {
  const members = await addresses(['a', 'b'])
  const dir = inFolder('a')
  const [a] = await Promise.all([
    opening({ id: 'a', dir, members }),
    opening({ id: 'b', memory: true, members }),
  ])
  await a.ready()
  await a.close()
  await expect(open({ id: 'a', dir, auth })).rejects.toThrow(TypeError)
  await expect(open({ id: 'a', dir, auth })).rejects.toThrow(/--member-token/)
  // Nothing was spoilt, and the directory is free again.
  const again = await opening({ id: 'a', dir, auth: { ...auth, memberToken: 'm' } })
  await again.close()
})

test('M20: a member token is replaced member by member, and the members stay together', async () => {
  const members = await addresses(['a', 'b', 'c'])
  const start = (id: string, memberToken: string[]) =>
    opening({ id, dir: inFolder(id), members, auth: { tokens: ['all'], memberToken } })
  const stores = new Map<string, Store>()
  for (const id of ['a', 'b', 'c']) stores.set(id, await start(id, ['old']))
  await Promise.all([...stores.values()].map((store) => store.ready()))
  for (const list of [['old', 'new'], ['new', 'old'], ['new']]) {
    for (const id of ['a', 'b', 'c']) {
      await stores.get(id)?.close()
      stores.set(id, await start(id, list))
      await stores.get(id)?.ready()
    }
  }
  await stores.get('b')?.put('k', 'v')
  expect(await stores.get('c')?.get('k', { as: 'string' })).toBe('v')
})
