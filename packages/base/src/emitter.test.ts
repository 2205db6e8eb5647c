// Test: the emitter behaves like Node's EventEmitter.

import { expect, test, vi } from 'vitest'
import { Emitter } from './emitter.js'

type Events = { word: string }

test('listeners are called in order, one that was added twice is called twice; off removes one of them', () => {
  const events = new Emitter<Events>()
  const heard: string[] = []
  const one = (word: string) => void heard.push(`one ${word}`)
  events.on('word', one)
  events.on('word', (word) => void heard.push(`two ${word}`))
  events.on('word', one)
  events.emit('word', 'a')
  events.off('word', one)
  events.emit('word', 'b')
  events.off('word', one)
  events.off('word', one)
  events.emit('word', 'c')
  expect(heard).toEqual(['one a', 'two a', 'one a', 'one b', 'two b', 'two c'])
})

test('once: called once, also when the listener emits the event again; off removes it before', () => {
  const events = new Emitter<Events>()
  const heard: string[] = []
  events.once('word', (word) => {
    heard.push(word)
    events.emit('word', 'again')
  })
  events.emit('word', 'a')
  const never = (word: string) => void heard.push(word)
  events.once('word', never)
  events.off('word', never)
  events.emit('word', 'b')
  events.once('word', never)()
  events.emit('word', 'c')
  expect(heard).toEqual(['a'])
})

test('a listener that is added or removed while an event is emitted is not called for that event', () => {
  const events = new Emitter<Events>()
  const heard: string[] = []
  const late = (word: string) => void heard.push(`late ${word}`)
  events.once('word', () => {
    off()
    events.on('word', late)
  })
  const off = events.on('word', (word) => void heard.push(word))
  events.emit('word', 'a')
  events.emit('word', 'b')
  expect(heard).toEqual(['late b'])
})

test('the error of a listener reaches neither the caller of emit nor other listeners', () => {
  const later = vi.spyOn(globalThis, 'queueMicrotask').mockImplementation(() => {})
  try {
    const events = new Emitter<Events>()
    const heard: string[] = []
    events.on('word', () => {
      throw new Error('mine')
    })
    events.on('word', (word) => void heard.push(word))
    events.emit('word', 'a')
    expect([heard, later.mock.calls.length]).toEqual([['a'], 1])
    expect(() => later.mock.calls[0]?.[0]()).toThrow('mine')
  } finally {
    later.mockRestore()
  }
})

test('a listener that is no function is a TypeError', () => {
  expect(() => new Emitter<Events>().on('word', 'listener' as never)).toThrow(TypeError)
})
