// Test: a queue gives its items in their order, and what is not needed any more does not stay in memory.

import { expect, test } from 'vitest'
import { Queue } from './fifo-queue.js'

test('items come in their order, however many have come before', () => {
  const queue = new Queue<number>()
  expect([queue.length, queue.shift()]).toEqual([0, undefined])
  let next = 0
  for (let i = 0; i < 5_000; i++) {
    queue.push(2 * i)
    queue.push(2 * i + 1)
    expect(queue.shift()).toBe(next++)
  }
  expect(queue.length).toBe(5_000)
  while (queue.length > 1) expect(queue.shift()).toBe(next++)
  expect(queue.takeAll()).toEqual([9_999])
  expect([queue.length, queue.shift()]).toEqual([0, undefined])
})

test('items that are not needed leave when they are 1,024, and at least half of all', () => {
  const queue = new Queue<number>()
  for (let i = 0; i < 2_049; i++) queue.push(i)
  const asked: number[] = []
  const isDead = (item: number) => {
    asked.push(item)
    return item < 1_025
  }
  for (let i = 0; i < 1_024; i++) queue.forget(isDead)
  expect([asked.length, queue.length]).toEqual([0, 2_049])
  queue.forget(isDead)
  expect([asked.length, queue.length, queue.shift()]).toEqual([2_049, 1_024, 1_025])
  // The count begins anew.
  for (let i = 0; i < 1_023; i++) queue.forget(isDead)
  expect(asked).toHaveLength(2_049)
  queue.forget(isDead)
  expect(asked).toHaveLength(2_049 + 1_023)
})
