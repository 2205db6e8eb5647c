// Test: the client finds an unanswered request by its id, however many requests came later.

import { expect, test } from 'vitest'
import { InFlightRequests } from './in-flight-requests.js'

test('an id is found until it is deleted, also behind thousands of later ones', () => {
  const inflight = new InFlightRequests<string>()
  inflight.add(1, 'first')
  for (let id = 2; id <= 5_000; id++) {
    inflight.add(id, `${id}`)
    if (id > 10) inflight.delete(id - 3)
  }
  const left = ['first', '2', '3', '4', '5', '6', '7', '4998', '4999', '5000']
  expect([inflight.size, inflight.all()]).toEqual([left.length, left])
  expect([inflight.get(1), inflight.get(4_999), inflight.get(4_000)]).toEqual(['first', '4999', undefined])
  inflight.delete(1)
  inflight.delete(1)
  inflight.delete(5_000)
  expect([inflight.get(1), inflight.get(5_000), inflight.size]).toEqual([undefined, undefined, 8])
  expect(inflight.takeAll()).toEqual(left.slice(1, -1))
  expect([inflight.size, inflight.all(), inflight.get(2)]).toEqual([0, [], undefined])
})

test('the same as a Map, whatever is added, deleted and asked for', () => {
  const inflight = new InFlightRequests<number>()
  const map = new Map<number, number>()
  let next = 0
  for (let step = 0; step < 20_000; step++) {
    // A few are left lying for long; the rest goes soon.
    next += 1 + (step % 3)
    inflight.add(next, step)
    map.set(next, step)
    const leaving = next - (step % 7) * 13
    if (leaving % 97 !== 0) {
      inflight.delete(leaving)
      map.delete(leaving)
    }
  }
  expect(inflight.size).toBe(map.size)
  expect(inflight.all()).toEqual([...map.values()])
  for (const [id, call] of map) expect(inflight.get(id)).toBe(call)
})
