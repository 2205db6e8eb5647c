// Test: what the view of the list of locks shows, also after a change, a refusal or a click.

import { expect, test, vi } from 'vitest'
import { LockList } from './locks-view.js'
import { LOCK_WATCH, lock, member } from './testing/scripted-member.js'
import { click, opened, page, seen, type, useSimulatedDocument, wait } from './testing/simulated-document.js'

useSimulatedDocument()

const two = [lock('a/1', { context: 'ana' }), lock('b', { waiters: 1200, mode: 'shared' })]

test('the list, its pages and its prefix', async () => {
  const { console, asked, answers, tell } = member({
    '/v1/locks?': { locks: two, next: 'b' },
    [LOCK_WATCH]: {},
  })
  const root = await opened(new LockList(console))
  await wait(1_000)
  expect(seen(root)).toEqual([
    '2 held on this page; there are more. 1,200 callers wait.',
    'a/1 <#/locks/a%2F1> | ana | 0 | 2.5 s | 29 s | 9 | exclusive',
    'b <#/locks/b> | id-of-b | (warn) 1,200 | 2.5 s | 29 s | 9 | shared',
    '[Next page]',
  ])
  answers['/v1/locks?'] = { locks: two.slice(0, 1), next: null }
  await click(root, 'Next page')
  expect(seen(root)).toEqual([
    '1 held on this page; there are more. Nobody waits.',
    'a/1 <#/locks/a%2F1> | ana | 0 | 2.0 s | 30 s | 9 | exclusive',
    '[First page]',
  ])
  await click(root, 'First page')
  expect(seen(root)).toEqual([
    '1 held. Nobody waits.',
    'a/1 <#/locks/a%2F1> | ana | 0 | 2.0 s | 30 s | 9 | exclusive',
  ])
  await type(root, 'a/')
  root.querySelector('form')?.dispatch('submit')
  expect(page.hash).toBe('#/locks/a%2F')
  answers['/v1/locks?'] = { locks: [], next: null }
  tell(LOCK_WATCH, { type: 'released', key: 'a/1', id: 'x', fencingToken: 9 })
  await wait(3_000)
  expect(seen(root)).toEqual(['0 held. Nobody waits.', 'No lock is held here.'])
  expect(asked).toEqual([
    '/v1/locks:watch?prefix=',
    '/v1/locks?prefix=&limit=100',
    '/v1/locks?prefix=&limit=100',
    '/v1/locks?prefix=&limit=100&after=b',
    '/v1/locks?prefix=&limit=100',
    '/v1/locks?prefix=a%2F&limit=100',
    '/v1/locks?prefix=a%2F&limit=100',
  ])
})

test('a person with prefixes begins at the first one, and a refusal is shown until the next answer', async () => {
  const prefixes = { rights: ['read'], locks: [{ prefix: 'in/' }, { prefixBase64: '/w==' }] }
  const { console, asked, answers } = member({ [LOCK_WATCH]: {} }, prefixes)
  const view = new LockList(console)
  const root = await opened(view)
  expect(asked).toEqual([
    '/v1/locks:watch?prefix=in%2F',
    '/v1/locks:watch?prefix=%FF',
    '/v1/locks?prefix=in%2F&limit=100',
  ])
  expect(root.querySelector('input')?.value).toBe('in/')
  expect(seen(root)).toEqual([
    'no answer to /v1/locks?prefix=in%2F&limit=100',
    'No lock is held here.',
    '[First page]',
    '[Next page]',
  ])
  answers['/v1/locks?'] = { locks: [], next: null }
  await wait(5_500)
  expect(seen(root)).toEqual(['0 held. Nobody waits.', 'No lock is held here.'])
  view.stop()
  console.history.close()
  await wait(0)
  expect(vi.getTimerCount()).toBe(0)
})
