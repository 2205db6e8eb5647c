// Test: what the view of the list of sessions shows, also after a change, a refusal or a click.

import { expect, test, vi } from 'vitest'
import { Sessions } from './sessions-view.js'
import { Refusal } from './member-requests.js'
import { member } from './testing/scripted-member.js'
import {
  body,
  click,
  type Element,
  opened,
  seen,
  useSimulatedDocument,
  wait,
} from './testing/simulated-document.js'

useSimulatedDocument()

const session = (id: number, more: object = {}) => ({
  id,
  openedBy: 'billing',
  idleMillis: 1_000,
  remainingMillis: 60_000,
  holds: 0,
  waiters: 0,
  ...more,
})

test('the busiest come first, at most 200, and their times pass', async () => {
  const sessions = [
    session(3),
    session(1),
    session(2, { holds: 1 }),
    session(4, { waiters: 2, openedBy: '' }),
  ]
  const { console, answers } = member({ '/v1/sessions': { sessions } })
  const view = new Sessions(console)
  const root = await opened(view)
  expect(seen(root)).toEqual([
    'A store opens a session at its first write, lock or wait.',
    '4 open.',
    '4 | – | 0 | 2 | 1.0 s | 60 s | [End…]',
    '2 | billing | 1 | 0 | 1.0 s | 60 s | [End…]',
    '1 | billing | 0 | 0 | 1.0 s | 60 s | [End…]',
    '3 | billing | 0 | 0 | 1.0 s | 60 s | [End…]',
  ])
  const many = (count: number) => ({ sessions: Array.from({ length: count }, (_, id) => session(id)) })
  answers['/v1/sessions'] = many(200)
  await wait(4_000)
  expect(seen(root).slice(0, 2)).toEqual([
    'A store opens a session at its first write, lock or wait.',
    '200 open.',
  ])
  answers['/v1/sessions'] = many(201)
  await wait(4_000)
  expect(seen(root)[1]).toBe('201 open; the 200 with the most holds and waits are shown.')
  expect(root.all('tr')).toHaveLength(1 + 200)
  answers['/v1/sessions'] = new Refusal(403, 'X', 'no right')
  await wait(4_000)
  expect(seen(root)[1]).toBe('no right')
  view.stop()
  expect(vi.getTimerCount()).toBe(0)
})

test('the end of a session is asked first, and says what stays', async () => {
  const sessions = [session(1, { holds: 1_200, waiters: 1 }), session(2, { openedBy: '' })]
  const { console, posted, said, asked } = member({
    '/v1/sessions': { sessions },
    '/v1/sessions/1:end': { ended: true },
    '/v1/sessions/2:end': { ended: false },
  })
  const root = await opened(new Sessions(console))
  const texts = [
    'Its places in queues are lost. A store that comes back opens another session.',
    'Its places in queues are lost. Its holds (1,200) stay until their leases end. A store that comes back opens another session.',
  ]
  for (const [title, id, text] of [
    ['End session 1 of billing?', '1', texts[1]],
    ['End session 2?', '2', texts[0]],
  ]) {
    const row = root.all('tr').find((one) => one.textContent.startsWith(`${id}`)) as Element
    await click(row, 'End…')
    expect(body.all('dialog').flatMap(seen)).toEqual([title, text, '[Cancel]', '[End session]'])
    await click(body, 'End session')
  }
  expect(posted).toEqual([
    ['/v1/sessions/1:end', undefined],
    ['/v1/sessions/2:end', undefined],
  ])
  expect(said).toEqual(['Session 1 is ended.', 'Session 2 had already ended.'])
  // The list is read again after each end.
  expect(asked.filter((path) => path === '/v1/sessions')).toHaveLength(3)
})
