// Test: onAbort puts one listener on a signal, however many calls wait for that signal.

import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { onAbort } from './index.js'

test('any number of callers wait with one listener; each is called once, in order', () => {
  const controller = new AbortController()
  const told: number[] = []
  for (let n = 0; n < 100; n++) onAbort(controller.signal, () => told.push(n))
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
  controller.abort()
  expect(told).toEqual(Array.from({ length: 100 }, (_, n) => n))
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
})

test('without callers the signal has no listener, and a later caller may wait again', () => {
  const { signal } = new AbortController()
  const offs = [onAbort(signal, () => {}), onAbort(signal, () => {})]
  for (const off of [...offs, ...offs]) off()
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  const off = onAbort(signal, () => {})
  offs[0]?.()
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  off()
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

test('a callback that is removed while the others run is not called', () => {
  const controller = new AbortController()
  const told: string[] = []
  onAbort(controller.signal, () => {
    told.push('first')
    off()
  })
  const off = onAbort(controller.signal, () => told.push('second'))
  controller.abort()
  expect(told).toEqual(['first'])
  onAbort(controller.signal, () => told.push('late'))()
  expect(told).toEqual(['first'])
})
