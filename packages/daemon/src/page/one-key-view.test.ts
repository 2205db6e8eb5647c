// Test: what the view of one key shows, also after a change, a refusal or a click.

import { expect, test, vi } from 'vitest'
import { OneKey } from './one-key-view.js'
import { Refusal } from './member-requests.js'
import { LOCK_WATCH, member } from './testing/scripted-member.js'
import { click, opened, seen, useSimulatedDocument, wait } from './testing/simulated-document.js'

useSimulatedDocument()

// long: one view, followed through all its states
test('one key: its facts, the forms of its value, its end, and a value that is cut', async () => {
  const headers = { 'latchkey-create-revision': '7', 'latchkey-version': '3' }
  const first = { ...headers, etag: '"1200"', 'latchkey-remaining-millis': '60000' }
  const { console, answers, tell } = member({
    '/v1/kv/k': new Response('{"a":1}', { headers: first }),
    '/v1/watch': {},
    [LOCK_WATCH]: {},
  })
  const view = new OneKey(console, 'k')
  const root = await opened(view)
  expect(seen(root)).toEqual([
    'Changed at revision: 1,200',
    'Created at revision: 7',
    'Version: 3',
    'Size: 7 bytes',
    'Lives for: 60 s',
    'Value',
    '[text]',
    '[JSON]',
    '[MessagePack] disabled',
    '[hex]',
    '{\n  "a": 1\n}',
  ])
  expect(root.all('button').map((one) => one.getAttribute('aria-pressed'))).toEqual([
    'false',
    'true',
    'false',
    'false',
  ])
  await wait(3_000)
  expect(seen(root)).toContain('Lives for: 57 s')
  await click(root, 'hex')
  expect(seen(root).at(-1)).toBe('00000000  7b 22 61 22 3a 31 7d                             {"a":1}')
  answers['/v1/kv/k'] = new Response('x'.repeat(64 * 1024 + 1), { headers: { ...headers, etag: '"7"' } })
  tell('/v1/watch?key=k&as=base64', { type: 'put', key: 'k' })
  await wait(1_000)
  expect(seen(root).slice(0, -1)).toEqual([
    'Changed at revision: 7',
    'Created at revision: 7',
    'Version: 3',
    'Size: 64 KiB',
    'Lives for: ever',
    'Value',
    '[text]',
    '[JSON] disabled',
    '[MessagePack] disabled',
    '[hex]',
    'The first 64 KiB of 64 KiB.',
  ])
  expect(seen(root).at(-1)?.split('\n')).toHaveLength(4096)
  answers['/v1/kv/k'] = new Refusal(404, 'X', 'x')
  tell('/v1/watch?key=k&as=base64', { type: 'delete', key: 'k' })
  await wait(1_000)
  expect(seen(root).filter((line) => !line.includes(': ') && !line.startsWith('['))).toEqual([
    'There is no value under this key now.',
    'Value',
    'The first 64 KiB of 64 KiB.',
  ])
  answers['/v1/kv/k'] = new Refusal(503, 'X', 'no leader')
  tell('/v1/watch?key=k&as=base64', { type: 'put', key: 'k' })
  await wait(1_000)
  expect(seen(root)[0]).toBe('no leader')
  view.stop()
  console.history.close()
  await wait(0)
  expect(vi.getTimerCount()).toBe(0)
})
