// Test: configurations: which are valid, how they are encoded, and which one is used.

import { seededRandom, utf8 } from '@latchkey/base'
import { expect, test } from 'vitest'
import { Configurations, decodeMembership, encodeMembership, membersOf, whyInvalid } from './membership.js'
import type { Membership } from './types.js'

const peersOf = (ids: readonly string[]) =>
  Object.fromEntries(ids.map((id) => [id, { url: `ws://${id}`, incarnation: 'i' }]))
const of = (voters: string[], rest: Partial<Membership> = {}): Membership => {
  const plain = { voters, outgoing: [], learners: [], learnersNext: [], peers: {}, ...rest }
  return { ...plain, peers: rest.peers ?? peersOf(membersOf(plain)) }
}

test.each([
  ['there would be no voter', of([])],
  ['a member is named twice', of(['a', 'a'])],
  ['a list is not in order', of(['b', 'a'])],
  ['an id is empty, too long or no text', of([''])],
  ['an id is empty, too long or no text', of(['x'.repeat(129)])],
  ['an id is empty, too long or no text', { ...of(['a']), learners: 'abc' as never }],
  ['a learner is a voter too', of(['a', 'b'], { learners: ['b'] })],
  ['a learner is a voter too', of(['a'], { outgoing: ['b'], learners: ['b'] })],
  ['a voter to become a learner does not leave the old half', of(['a'], { learnersNext: ['b'] })],
  [
    'a voter to become a learner does not leave the old half',
    of(['a', 'b'], { outgoing: ['a', 'b'], learnersNext: ['b'] }),
  ],
  ['more than 63 members', of(Array.from({ length: 100 }, (_, i) => `m${1000 + i}`))],
  ['the addresses are missing', { ...of(['a']), peers: null as never }],
  ['the addresses are not those of the members', of(['a'], { peers: {} })],
  ['the address of b is not one of a member', of(['a'], { peers: peersOf(['b']) })],
  [
    'the address of a is not one of a member',
    of(['a'], { peers: { a: { url: 1, incarnation: '' } as never } }),
  ],
])('M18: %s', (why, membership) => {
  expect(whyInvalid(membership)).toBe(why)
})

test('M6: a joint configuration with both halves and the learners to be goes through its bytes', () => {
  const joint = of(['a', 'b'], { outgoing: ['b', 'c', 'd'], learners: ['e'], learnersNext: ['c'] })
  expect(whyInvalid(joint)).toBeUndefined()
  expect(decodeMembership(encodeMembership(joint))).toEqual(joint)
})

test('equal configurations have equal bytes, whatever the order of their addresses', () => {
  const one = of(['10', '9', 'a'], { peers: peersOf(['10', '9', 'a']) })
  const other = of(['10', '9', 'a'], { peers: peersOf(['a', '9', '10']) })
  expect(encodeMembership(one)).toEqual(encodeMembership(other))
})

test('E19: invalid bytes decode to undefined, and nothing is thrown', () => {
  const good = encodeMembership(of(['a', 'b'], { learners: ['c'] }))
  const random = seededRandom('members')
  for (let i = 0; i < 3000; i++) {
    const bytes = Uint8Array.from(good)
    bytes[random.between(0, bytes.length)] = random.between(0, 256)
    const decoded = decodeMembership(bytes)
    if (decoded !== undefined) expect(whyInvalid(decoded)).toBeUndefined()
  }
  for (const text of [
    '',
    'null',
    '[]',
    '[1,2,3,4,5,6]',
    '[2,["a"],[],[],[],[]]',
    '[1,["a"],[],[],[],[7]]',
    '[1,["a"],[],[],[],[["a"]]]',
  ]) {
    expect(decodeMembership(utf8(text))).toBeUndefined()
  }
  const proto = decodeMembership(utf8('[1,["__proto__"],[],[],[],[["__proto__","u","i"]]]'))
  expect(proto?.voters).toEqual(['__proto__'])
  expect(Object.entries(proto?.peers ?? {})).toEqual([['__proto__', { url: 'u', incarnation: 'i' }]])
})

test('M2, M14: in force is the latest of the log, else the one it starts behind', () => {
  const [first, second, third] = [of(['a']), of(['a', 'b']), of(['a', 'b', 'c'])]
  const configs = new Configurations(5, first)
  configs.append(7, second)
  configs.append(9, third)
  expect([configs.current, configs.at(5), configs.at(6), configs.at(8)]).toEqual([
    third,
    first,
    first,
    second,
  ])
  configs.truncate(9)
  expect(configs.current).toBe(second)
  expect(() => configs.append(7, third)).toThrow('before the one in force')
  configs.compact(8)
  expect([configs.current, configs.index, configs.at(1)]).toEqual([second, 7, second])
  configs.truncate(1)
  expect(configs.current).toBe(second)
  configs.restart(20, third)
  expect([configs.current, configs.index]).toEqual([third, 20])
})
