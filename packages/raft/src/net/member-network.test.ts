// Test: members over real sockets: handshakes, messages, and the events 'up', 'gone' and 'dead'.

import type { Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { TIMING } from './network-settings.js'
import type { RefusedEvent } from './transport-interface.js'
import {
  append,
  Crew,
  heartbeat,
  introduce,
  type Member,
  type Options,
  pause,
  until,
} from './testing/crew.js'

let crew = new Crew()
afterEach(async () => {
  await crew.close()
  crew = new Crew()
})

const both = (a: Member, b: Member) => () => a.network.connected(b.id) && b.network.connected(a.id)

async function pair(options: Options = {}): Promise<[Member, Member]> {
  const a = await crew.start('a', options)
  const b = await crew.start('b', options)
  introduce(a, b)
  await until(both(a, b))
  return [a, b]
}

describe('what is said', () => {
  test('messages arrive checked, from whom they came', async () => {
    const [a, b] = await pair()
    a.network.send('b', heartbeat(a, b, 7))
    a.network.send('b', append(a, b, 1, Buffer.from('one')))
    expect(a.network.sendApp('b', Buffer.from('above'))).toBe(true)
    b.network.send('a', heartbeat(b, a, 8))
    await until(() => b.messages.length === 2 && b.apps.length === 1 && a.messages.length === 1)
    expect(b.messages[0]).toEqual(heartbeat(a, b, 7))
    expect(b.messages[1]).toMatchObject({ type: 'append', from: 'a', to: 'b', prevIndex: 0 })
    expect(b.apps).toEqual([{ from: 'a', bytes: Buffer.from('above') }])
    expect(b.network.peer('a')).toMatchObject({ id: 'a', incarnation: 'of a', boot: a.self.boot, version: 1 })
  })

  test('all messages of one turn travel in one frame', async () => {
    const [a, b] = await pair()
    const before = b.network.stats.framesReceived
    for (let i = 1; i <= 100; i++) {
      a.network.send('b', heartbeat(a, b, i))
      a.network.send('b', append(a, b, i, Buffer.alloc(500)))
      a.network.sendApp('b', Buffer.alloc(50))
    }
    await until(() => b.apps.length === 100)
    expect(b.messages).toHaveLength(200)
    expect(b.network.stats.framesReceived - before).toBe(1)
  })

  test('bytes and round trips are counted for each member, and end with its membership', async () => {
    const [a, b] = await pair()
    a.network.send('b', append(a, b, 1, Buffer.alloc(500)))
    await until(() => b.messages.length === 1)
    await until(() => a.network.peerStats().get('b')?.roundTripMillis !== undefined)
    const [ofA, ofB] = [a.network.peerStats().get('b'), b.network.peerStats().get('a')]
    expect(ofA?.bytesSent).toBeGreaterThan(500)
    expect([ofB?.bytesReceived, ofB?.bytesSent, ofA?.bytesReceived]).toEqual([ofA?.bytesSent, 0, 0])
    b.network.setPeers({})
    await until(() => b.network.peerStats().size === 0)
  })

  test('flush sends at once, and the end of the turn does not send again', async () => {
    const [a, b] = await pair()
    a.network.send('b', heartbeat(a, b, 1))
    a.network.flush()
    const sent = a.network.stats.framesSent
    expect(sent).toBe(1)
    await until(() => b.messages.length === 1)
    expect(a.network.stats.framesSent).toBe(1)
  })

  test('A11: a message of 12 MiB arrives whole', async () => {
    const [a, b] = await pair()
    const data = Buffer.alloc(12 * 1024 * 1024)
    for (let i = 0; i < data.length; i += 1001) data[i] = i
    a.network.send('b', append(a, b, 1, data))
    await until(() => b.messages.length === 1)
    const [got] = b.messages
    expect(got?.type === 'append' && Buffer.compare(got.entries[0]?.data ?? Buffer.alloc(0), data)).toBe(0)
  })

  test('nothing is kept for a member that is not connected', async () => {
    const a = await crew.start('a')
    const b = await crew.start('b')
    a.network.send('b', heartbeat(a, b, 1))
    expect(a.network.sendApp('b', Buffer.alloc(1))).toBe(false)
    introduce(a, b)
    await until(both(a, b))
    a.network.send('b', heartbeat(a, b, 2))
    await until(() => b.messages.length > 0)
    expect(b.messages).toEqual([heartbeat(a, b, 2)])
    expect(a.network.stats.dropped).toBe(1)
  })
})

describe('who is gone and who is dead', () => {
  test('a killed member is gone, then dead, at once', async () => {
    // No ping is missed in time, so the closed connection alone says it.
    const [a, b] = await pair({ timing: { ping: 60_000 } })
    await pause(30)
    await b.kill()
    await until(() => a.events.includes('dead b'))
    expect(a.events).toEqual(['up b', 'gone b', 'dead b'])
    expect(a.peers.at(-1)?.info).toMatchObject({ id: 'b', boot: b.self.boot, incarnation: 'of b' })
  })

  test('a member that was away for long, and is killed soon after it came back, is dead at once too', async () => {
    // The pauses are longer than the test, so a member that waits for a pause never dials. No attempt fails
    // because this process stands still.
    const patient = { connect: 60_000, hello: 60_000 }
    const backoff = { least: 60_000, most: 60_000 }
    const a = await crew.start('a', { timing: { ...patient, lived: TIMING.lived, backoff } })
    const b = await crew.start('b', { timing: patient })
    introduce(a, b)
    await until(both(a, b))
    await pause(150)
    await b.kill()
    await until(() => a.events.includes('dead b'))
    await pause(50)
    const again = await crew.start('b', { port: b.listener.port, timing: patient })
    introduce(a, again)
    await until(both(a, again))
    await pause(250)
    await again.kill()
    await until(() => a.events.filter((event) => event === 'dead b').length === 2)
  })

  test('a killed member that comes back is dialled again, and is another boot', async () => {
    const [a, b] = await pair()
    const { port } = b.listener
    await b.kill()
    await until(() => a.events.includes('dead b'))
    const again = await crew.start('b', { port })
    introduce(a, again)
    await until(both(a, again))
    expect(a.events).toEqual(['up b', 'gone b', 'dead b', 'up b'])
    expect(a.network.peer('b')?.boot).toBe(again.self.boot)
    a.network.send('b', heartbeat(a, again, 1))
    await until(() => again.messages.length === 1)
  })

  test('a connection that closes while the process lives is gone, not dead', async () => {
    const [a, b] = await pair()
    for (const socket of b.sockets) socket.resetAndDestroy()
    await until(() => a.events.includes('gone b'))
    await until(both(a, b))
    await pause(50)
    expect(a.events).toEqual(['up b', 'gone b', 'up b'])
  })

  test.each([
    ['reset', (socket: Socket) => void socket.resetAndDestroy()],
    ['closed', (socket: Socket) => void socket.destroy()],
    [
      'answered by an error',
      (socket: Socket) => void socket.end('HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\n'),
    ],
    ['never answered', () => {}],
  ])('TR3: while new connections are %s, a member is gone, but never dead', async (_how, meetWith) => {
    const a = await crew.start('a', { timing: { connect: 40 } })
    const b = await crew.start('b')
    introduce(a, b)
    await until(both(a, b))
    let attempts = 0
    b.listener.server.removeAllListeners('upgrade')
    b.listener.server.on('upgrade', (_request, socket) => {
      attempts++
      socket.on('error', () => {})
      meetWith(socket as Socket)
    })
    for (const socket of b.sockets) socket.resetAndDestroy()
    await until(() => attempts >= 4)
    expect(a.events).toEqual(['up b', 'gone b'])
  })

  test('another boot number at the same port proves that the old process is dead, also when no attempt was refused', async () => {
    const [a, b] = await pair()
    // The process was replaced so quickly that no attempt to connect fell between: the port never closed.
    b.self = { ...b.self, boot: b.self.boot + 1_000 }
    for (const socket of b.sockets) socket.resetAndDestroy()
    await until(() => a.events.length >= 4)
    expect(a.events).toEqual(['up b', 'gone b', 'dead b', 'up b'])
    expect(a.peers.map(({ info }) => info.boot - b.self.boot)).toEqual([-1_000, -1_000, -1_000, 0])
  })

  test('C8: a member that sends nothing any more is gone, but not dead', async () => {
    const quick = { timing: { ping: 20, missed: 5 } }
    const a = await crew.start('a', quick)
    const b = await crew.start('b')
    introduce(a, b)
    await until(both(a, b))
    for (const socket of b.sockets) socket.pause()
    await until(() => a.events.includes('gone b'))
    expect(a.events).not.toContain('dead b')
    // A new connection to that member succeeds.
    await until(() => a.events.length === 3)
    expect(a.events).toEqual(['up b', 'gone b', 'up b'])
  })

  test('an incoming connection of another boot ends the connection to the old boot, which may be half open', async () => {
    const [a, b] = await pair()
    b.self = { ...b.self, boot: b.self.boot + 1_000 }
    // Only the connection that b had dialled breaks; the one to b's old process still looks alive.
    for (const socket of a.sockets) socket.resetAndDestroy()
    await until(() => a.events.length >= 4)
    expect(a.events).toEqual(['up b', 'gone b', 'dead b', 'up b'])
  })

  test('M23: of two processes with one identity the one at the address stays connected; the other is refused and named', async () => {
    const [a, b] = await pair()
    // Only the boot number differs, as after a directory was copied.
    const copy = await crew.start('b')
    copy.network.setPeers({ a: { url: a.url } })
    const isSecond = ({ reason }: RefusedEvent) => reason.startsWith('two processes are member b')
    await until(() => copy.refused.filter(isSecond).length >= 3)
    await until(both(a, b))
    expect(a.network.peer('b')?.boot).toBe(b.self.boot)
    expect(a.refused.find(isSecond)).toMatchObject({ id: 'b', by: 'us', code: 'ERR_WRONG_CLUSTER' })
    expect(a.refused.find(isSecond)?.reason).toContain(`another one answers at its address ${b.url}`)
    for (const { log } of [a, copy])
      expect(
        log.filter(({ level, fields }) => level === 'warn' && /two processes/.test(String(fields?.reason))),
      ).toHaveLength(1)
    // The copy's attempts close no other connection any more.
    const [ofA, ofB, refused] = [a.events.length, b.events.length, copy.refused.length]
    await until(() => copy.refused.length >= refused + 5)
    expect([a.events.length, b.events.length]).toEqual([ofA, ofB])
    expect(a.events).not.toContain('dead b')
    // The member ends and starts again with a new boot number: it is admitted at once, and the copy is not.
    const { port } = b.listener
    await b.kill()
    await until(() => a.events.includes('dead b'))
    const again = await crew.start('b', { port })
    introduce(a, again)
    await until(() => both(a, again)() && a.network.peer('b')?.boot === again.self.boot)
    const before = copy.refused.length
    await until(() => copy.refused.length >= before + 3)
    expect(a.network.peer('b')?.boot).toBe(again.self.boot)
  })

  test('M23: a second process that connected first is sent away once the process at the address answers', async () => {
    const a = await crew.start('a')
    const copy = await crew.start('b')
    copy.network.setPeers({ a: { url: a.url } })
    await until(() => copy.network.connected('a'))
    expect(a.network.peer('b')?.boot).toBe(copy.self.boot)
    const b = await crew.start('b')
    a.network.setPeers({ b: { url: b.url } })
    await until(() => a.network.connected('b'))
    expect(a.network.peer('b')?.boot).toBe(b.self.boot)
    await until(() => copy.refused.some(({ reason }) => reason.startsWith('two processes are member b')))
    expect(a.events).toEqual(['up b'])
  })

  test('TR1: when a connection closes, its waiting messages are dropped, also a half sent one', async () => {
    const [a, b] = await pair()
    for (const socket of b.sockets) socket.pause()
    for (let i = 1; i <= 3; i++) a.network.send('b', append(a, b, i, Buffer.alloc(8 * 1024 * 1024)))
    await until(() => a.network.heldBytes('b') > 0)
    const { framesSent } = a.network.stats
    for (const socket of b.sockets) socket.resetAndDestroy()
    await until(() => a.events.length >= 3)
    expect(a.events).toEqual(['up b', 'gone b', 'up b'])
    expect(a.network.waitingBytes('b')).toBe(0)
    a.network.send('b', heartbeat(a, b, 1))
    await until(() => b.messages.length > 0)
    expect(b.messages).toEqual([heartbeat(a, b, 1)])
    // Only the heartbeat's frame was sent since: no piece for the broken socket, and nothing of the old
    // message on the new one.
    expect(a.network.stats.framesSent - framesSent).toBe(1)
  })

  test('a member that dials is dialled back at once, without waiting for a pause to end', async () => {
    const slow = { timing: { backoff: { least: 60_000, most: 60_000 } } }
    const a = await crew.start('a', slow)
    const b = await crew.start('b')
    const { port } = b.listener
    await b.kill()
    a.network.setPeers({ b: { url: b.url } })
    await pause(30)
    const again = await crew.start('b', { port })
    introduce(again, a)
    await until(() => a.network.connected('b'))
  })
})

describe('who is talked to', () => {
  test('TR5: a member that is asked at a second name of its address answers, and no connection is disturbed', async () => {
    const one = { self: { clusterId: 'one' } }
    const [a, b] = [await crew.start('a', one), await crew.start('b', one)]
    introduce(a, b)
    introduce(b, a)
    await until(() => a.network.connected('b') && b.network.connected('a'))
    const answers: unknown[] = []
    a.network.on('answered', ({ url, info, admitted }) =>
      answers.push([url, info.id, info.clusterId, admitted]),
    )
    const before = [a.events.length, b.events.length]
    const other = b.url.replace('127.0.0.1', 'localhost')
    a.network.setPeers({ b: { url: b.url, given: other } })
    await until(() => answers.length > 0)
    await pause(50)
    expect(answers).toEqual([[other, 'b', b.self.clusterId, true]])
    expect([a.events.length, b.events.length]).toEqual(before)
    a.network.send('b', heartbeat(a, b, 1))
    await until(() => b.messages.length === 1)
  })

  test('TR5: a member of another cluster answers with that cluster; another member than the wanted one gives no answer', async () => {
    const a = await crew.start('a', { self: { clusterId: 'one' } })
    const b = await crew.start('b', { self: { clusterId: 'another' } })
    const c = await crew.start('c')
    const answers: unknown[] = []
    a.network.on('answered', ({ info, admitted }) => answers.push([info.id, info.clusterId, admitted]))
    a.network.setPeers({
      b: { url: 'ws://127.0.0.1:1', given: b.url },
      d: { url: 'ws://127.0.0.1:1', given: c.url },
    })
    await until(() => answers.length > 0)
    await pause(50)
    expect(answers).toEqual([['b', 'another', false]])
    expect(b.network.connected('a') || a.network.connected('b')).toBe(false)
  })

  test('a removed member can still be told why for a while, then its connection closes', async () => {
    const [a, b] = await pair()
    a.network.setPeers({})
    a.network.send('b', heartbeat(a, b, 1))
    await until(() => b.messages.length === 1)
    await until(() => !a.network.connected('b'))
    a.network.send('b', heartbeat(a, b, 2))
    await pause(30)
    expect(b.messages).toHaveLength(1)
  })

  test('a member that is added again in time stays connected', async () => {
    const [a, b] = await pair()
    a.network.setPeers({})
    a.network.setPeers({ b: { url: b.url } })
    await pause(400)
    expect(a.events).toEqual(['up b'])
    expect(a.network.connected('b')).toBe(true)
  })

  test('another address is dialled at once', async () => {
    const [a, b] = await pair()
    await b.kill()
    const moved = await crew.start('b')
    introduce(a, moved)
    await until(both(a, moved))
  })

  test('an invalid address is reported, and disturbs no other member', async () => {
    const a = await crew.start('a')
    const b = await crew.start('b')
    a.network.setPeers({ x: { url: 'nonsense' }, y: { url: 'ws://127.0.0.1:1/#part' }, b: { url: b.url } })
    await until(() => a.network.connected('b'))
    expect(new Set(a.refused.map(({ id, code }) => `${id} ${code}`))).toEqual(
      new Set(['x ERR_PROTOCOL', 'y ERR_PROTOCOL']),
    )
  })

  test('close is quick, emits no events afterwards, and may be called twice', async () => {
    const [a, b] = await pair()
    await Promise.all([a.network.close(), a.network.close()])
    expect(a.events).toEqual(['up b'])
    a.network.send('b', heartbeat(a, b, 1))
    a.network.setPeers({ b: { url: b.url } })
    await until(() => b.events.includes('gone a'))
    expect(a.network.connected('b')).toBe(false)
  })
})
