// Test: what the view of the list of keys shows, also after a change, a refusal or a click.

import { expect, test, vi } from 'vitest'
import { KeyList } from './keys-view.js'
import { Refusal } from './member-requests.js'
import { LOCK_WATCH, member } from './testing/scripted-member.js'
import { click, opened, page, seen, type, useSimulatedDocument, wait } from './testing/simulated-document.js'

useSimulatedDocument()

test('the list, its pages, its prefix, and a change', async () => {
  const entries = [
    { key: 'a/1', value: { text: 'one' }, modRevision: 1_000 },
    { keyBase64: '/w==', value: { base64: 'wf8=' }, modRevision: 12 },
  ]
  const { console, asked, answers, tell } = member({
    '/v1/kv?': { entries, next: 'x y', revision: 1_234 },
    '/v1/watch': {},
    [LOCK_WATCH]: {},
  })
  const view = new KeyList(console)
  const root = await opened(view)
  await wait(1_000)
  expect(seen(root)).toEqual([
    '2 keys and more, at revision 1,234.',
    'a/1 <#/keys/a%2F1> | one | 1,000',
    '0xff <#/keys/%FF> | 0xc1ff | 12',
    '[Next page]',
  ])
  await click(root, 'Next page')
  answers['/v1/kv?'] = { entries: entries.slice(0, 1), next: null, revision: 5 }
  await click(root, 'Next page')
  expect(seen(root)).toEqual(['1 keys, at revision 5.', 'a/1 <#/keys/a%2F1> | one | 1,000', '[First page]'])
  await click(root, 'First page')
  await type(root, 'a/')
  answers['/v1/kv?'] = new Refusal(403, 'X', 'no right')
  tell('/v1/watch?prefix=a%2F', { type: 'put', key: 'a/1' })
  await wait(1_000)
  expect(seen(root)).toEqual(['no right', '1 keys, at revision 5.', 'a/1 <#/keys/a%2F1> | one | 1,000'])
  root.querySelector('form')?.dispatch('submit')
  expect(page.hash).toBe('#/keys/a%2F')
  expect(asked).toEqual([
    '/v1/locks:watch?prefix=',
    '/v1/kv?prefix=&limit=50',
    '/v1/watch?prefix=',
    '/v1/kv?prefix=&limit=50',
    '/v1/kv?prefix=&limit=50&after=x%20y',
    '/v1/kv?prefix=&limit=50&after=x%20y',
    '/v1/kv?prefix=&limit=50',
    '/v1/kv?prefix=a%2F&limit=50',
    '/v1/watch?prefix=a%2F',
    '/v1/kv?prefix=a%2F&limit=50',
    '/v1/kv?prefix=a%2F&limit=50',
  ])
  view.stop()
  console.history.close()
  await wait(0)
  expect(vi.getTimerCount()).toBe(0)
})
