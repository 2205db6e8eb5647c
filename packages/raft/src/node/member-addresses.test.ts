// Test: the address that a member uses for each other member.

import { expect, test } from 'vitest'
import type { MemberId, Membership } from '../core/types.js'
import { Addresses } from './member-addresses.js'

const membership = (urls: Record<MemberId, string>): Membership => ({
  voters: Object.keys(urls),
  outgoing: [],
  learners: [],
  learnersNext: [],
  peers: Object.fromEntries(Object.entries(urls).map(([id, url]) => [id, { url, incarnation: `of ${id}` }])),
})
const OLD = { a: 'ws://a-old', b: 'ws://b-old', c: 'ws://c-old' }
const NEW = { a: 'ws://a-new', b: 'ws://b-new', c: 'ws://c-new' }

function world(given: Record<MemberId, string> = NEW, former: readonly string[] = []) {
  const connected = new Set<MemberId>()
  const addresses = new Addresses({
    id: 'a',
    given,
    wasAt: (_, url) => former.includes(url),
    isConnected: (id) => connected.has(id),
  })
  return { addresses, connected }
}

test("M24: given addresses that equal the log's, also in another spelling, are not asked", () => {
  const { addresses } = world({ ...OLD, b: 'ws://b-old/' })
  expect(addresses.peers(membership(OLD), {})).toEqual({ b: { url: OLD.b }, c: { url: OLD.c } })
})

test('M24: a member is dialled where it was found only while it is not connected at the address of the log', () => {
  const { addresses, connected } = world()
  const now = membership(OLD)
  expect(addresses.peers(now, {})['b']).toEqual({ url: OLD.b, given: NEW.b })
  connected.add('b')
  addresses.answered('b')
  addresses.proved('b')
  addresses.answered('c')
  addresses.proved('c')
  expect(addresses.peers(now, {})).toEqual({ b: { url: OLD.b }, c: { url: NEW.c } })
  expect(addresses.dialled('c')).toBe(NEW.c)
  // The member is connected at the log's address, and is dialled there until that connection is gone.
  connected.add('c')
  expect(addresses.peers(now, {})['c']).toEqual({ url: NEW.c })
  connected.delete('c')
  addresses.gone('c')
  // A proof from before the connection was lost does not count any more.
  addresses.proved('c')
  expect(addresses.peers(now, {})['c']).toEqual({ url: OLD.c, given: NEW.c })
})

test('M24: when another member answers at the given address, the member is not dialled there', () => {
  const { addresses } = world()
  addresses.peers(membership(OLD), {})
  addresses.answered('b')
  expect(addresses.peers(membership(OLD), {})['b']).toEqual({ url: OLD.b })
  expect(addresses.moved(membership(OLD))).toEqual({})
})

test('M24: a leader writes down where it found a member, its own address first; nothing without a member that was found', () => {
  const { addresses } = world()
  addresses.peers(membership(OLD), {})
  expect(addresses.moved(membership(OLD))).toEqual({})
  addresses.answered('c')
  addresses.proved('c')
  addresses.peers(membership(OLD), {})
  expect(Object.entries(addresses.moved(membership(OLD)))).toEqual([
    ['a', NEW.a],
    ['c', NEW.c],
  ])
  const written = membership({ ...OLD, c: NEW.c })
  expect(addresses.peers(written, {})['c']).toEqual({ url: NEW.c })
  expect(addresses.moved(written)).toEqual({})
})

test('M24: an earlier address is asked while its member is not connected, and never written', () => {
  const { addresses, connected } = world(NEW, Object.values(NEW))
  connected.add('b')
  const now = membership(OLD)
  expect(addresses.peers(now, {})).toEqual({ b: { url: OLD.b }, c: { url: OLD.c, given: NEW.c } })
  addresses.answered('c')
  addresses.proved('c')
  expect(addresses.peers(now, {})['c']).toEqual({ url: NEW.c })
  expect(addresses.moved(now)).toEqual({})
})

test('M22: unknown members are dialled at the addresses that were given, and a member that waits to be added dials all of them', () => {
  const { addresses } = world({ ...OLD, x: 'ws://x' })
  expect(addresses.peers(membership(OLD), { x: 'ws://x' })['x']).toEqual({ url: 'ws://x' })
  expect(addresses.peers(membership({}), {})).toEqual({
    b: { url: OLD.b },
    c: { url: OLD.c },
    x: { url: 'ws://x' },
  })
})

test('M24: a member has two addresses if the given one is another than that of the log', () => {
  const { addresses } = world({ a: '', b: 'ws://b-old/', c: 'ws://c-new', e: 'ws://e' })
  addresses.peers(membership({ ...OLD, d: 'ws://d' }), {})
  expect(['a', 'b', 'c', 'd', 'e'].map((id) => addresses.hasTwo(id))).toEqual([
    false,
    false,
    true,
    false,
    false,
  ])
})
