// Test: an error while a message of another member is handled is counted, and closes only this connection.

import { afterEach, expect, test } from 'vitest'
import { Crew, heartbeat, introduce, type Member, until } from './testing/crew.js'

let crew = new Crew()
afterEach(async () => {
  await crew.close()
  crew = new Crew()
})

async function pair(): Promise<[Member, Member]> {
  const [a, b] = [await crew.start('a'), await crew.start('b')]
  introduce(a, b)
  await until(() => a.network.connected('b') && b.network.connected('a'))
  return [a, b]
}

/** Throws at the first event of this kind. */
const once = (what: string) => {
  let told = 0
  return () => {
    if (++told === 1) throw new Error(what)
  }
}

const hasEnded = (member: Member, id: string) => member.events.includes(`gone ${id}`)
const isBack = (member: Member, id: string) => member.events.lastIndexOf(`up ${id}`) > 0

test("C26: a listener for 'message' throws: the message's connection is closed, and made again", async () => {
  const [a, b] = await pair()
  a.network.on('message', once('no message like that'))
  a.network.on('app', once('no bytes like that'))
  b.network.send('a', heartbeat(b, a, 1))
  await until(() => hasEnded(b, 'a') && isBack(b, 'a'))
  expect([...a.errors.counts()]).toEqual([['member', 1]])
  b.events.length = 0
  b.network.sendApp('a', Buffer.from('x'))
  await until(() => hasEnded(b, 'a') && isBack(b, 'a'))
  expect([...a.errors.counts()]).toEqual([['member', 2]])
  b.network.sendApp('a', Buffer.from('y'))
  await until(() => a.apps.some(({ bytes }) => bytes.toString() === 'y'))
  expect(a.log.some(({ fields }) => String(fields?.['error']).includes('no message like that'))).toBe(true)
})

test("C26: a listener for 'up' throws: that connection is dialled again", async () => {
  const a = await crew.start('a')
  const b = await crew.start('b')
  a.network.on('peer', once('nobody like that'))
  introduce(a, b)
  await until(() => a.events.filter((event) => event === 'up b').length >= 2 && b.network.connected('a'))
  expect([...a.errors.counts()]).toEqual([['dialled member', 1]])
  b.network.send('a', heartbeat(b, a, 7))
  await until(() => a.messages.length > 0)
})

test("C26: a listener for 'gone' throws: the member is dialled again all the same", async () => {
  const [a, b] = await pair()
  a.network.on('peer', once('nobody is gone'))
  for (const socket of b.sockets) socket.destroy()
  await until(() => hasEnded(a, 'b') && isBack(a, 'b'))
  expect(a.errors.counts().get('dialled member')).toBe(1)
})
