// Test: a RecyclingMap behaves like a Map.

import { expect, test } from 'vitest'
import { RecyclingMap } from './map-with-frequent-deletes.js'

test('the same as a Map, however many come and go', () => {
  const fleeting = new RecyclingMap<number, string>()
  const map = new Map<number, string>()
  for (let step = 0; step < 5_000; step++) {
    const key = (step * 7919) % 301
    if (step % 3 === 0) {
      expect(fleeting.delete(key)).toBe(map.delete(key))
    } else {
      fleeting.set(key, `${step}`)
      map.set(key, `${step}`)
    }
    expect(fleeting.get(key)).toBe(map.get(key))
    if (step % 250 === 0) expect(fleeting.keys()).toEqual([...map.keys()])
  }
  expect([fleeting.size, fleeting.keys()]).toEqual([map.size, [...map.keys()]])
})

test('during an iteration the entries already met may be deleted, and each entry is met once', () => {
  const fleeting = new RecyclingMap<number, number>()
  for (let i = 0; i < 100; i++) fleeting.set(i, i)
  const met: number[] = []
  for (const value of fleeting.values()) {
    met.push(value)
    fleeting.delete(value)
  }
  expect(met).toEqual(Array.from({ length: 100 }, (_, i) => i))
  expect([fleeting.size, fleeting.has(1)]).toEqual([0, false])
  fleeting.set(1, 1)
  expect(fleeting.has(1)).toBe(true)
})
