// Test: requests to a load process get their answers, which may come in any order.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { Orders } from './orders.js'

/** Answers an order when the next one has come: the last first. */
const ANSWERER = `
let first
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const [number, word] = line.split(' ')
  if (word === 'end') process.exit(0)
  if (word === 'first') return (first = number)
  console.log('a library says something')
  console.log(number + (word === 'wrong' ? ' {"error":"it was wrong"}' : ' {"told":"' + word + '"}'))
  if (first) console.log(first + ' null')
})`

const children: ReturnType<typeof spawn>[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

const answerer = () => {
  const child = spawn(process.execPath, ['-e', ANSWERER], { stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  return { child, orders: new Orders(child) }
}

test('each order gets its own answer, and an error is a rejection', async () => {
  const { orders } = answerer()
  const first = orders.give('first')
  expect(await orders.give('second')).toEqual({ told: 'second' })
  expect(await first).toBe(null)
  await expect(orders.give('wrong')).rejects.toThrow('it was wrong')
})

test('when the process ends, nobody waits for its answers', async () => {
  const { child, orders } = answerer()
  const waiting = orders.give('first')
  const told = expect(waiting).rejects.toThrow('the load process has ended')
  orders.give('end').catch(() => {})
  await once(child, 'exit')
  await told
  await expect(orders.give('second')).rejects.toThrow('the load process has ended')
})
