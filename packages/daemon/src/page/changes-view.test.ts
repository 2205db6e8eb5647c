// Test: what the view of the changes of keys shows, also after a change, a refusal or a click.

import { expect, test, vi } from 'vitest'
import { Changes } from './changes-view.js'
import { Refusal } from './member-requests.js'
import { LOCK_WATCH, member } from './testing/scripted-member.js'
import { click, opened, seen, type, useSimulatedDocument, wait } from './testing/simulated-document.js'

useSimulatedDocument()

const WATCH = '/v1/watch?prefix='

// long: one view, followed through all its states
test('changes as they come, newest first, at most 200, and a pause', async () => {
  const { console, said, tell } = member({ '/v1/watch': {}, [LOCK_WATCH]: {} })
  const view = new Changes(console)
  const root = await opened(view)
  expect(seen(root)).toEqual([
    '[Pause]',
    '0 changes since this view was opened.',
    'Nothing has changed since this view was opened.',
  ])
  tell(WATCH, { type: 'progress', revision: 1 })
  tell(WATCH, { type: 'put', key: 'a', revision: 1_000, value: { text: 'one' } })
  tell(WATCH, { type: 'delete', key: 'a', revision: 1_001 })
  tell(WATCH, { type: 'delete', keyBase64: '/w==', revision: 1_002, reason: 'expired' })
  tell(WATCH, { type: 'reset', revision: 1_003 })
  await wait(250)
  expect(seen(root)).toEqual([
    '[Pause]',
    '4 changes since this view was opened.',
    '12:00:00 | (good) begins anew |  <#/keys/> |  | 1,003',
    '12:00:00 | (bad) expired | 0xff <#/keys/%FF> |  | 1,002',
    '12:00:00 | (bad) deleted | a <#/keys/a> |  | 1,001',
    '12:00:00 | (good) written | a <#/keys/a> | one | 1,000',
  ])
  await click(root, 'Pause')
  for (let i = 0; i < 900; i += 1) tell(WATCH, { type: 'put', key: `k${i}`, revision: i })
  await wait(1_000)
  expect(seen(root).slice(0, 4)).toEqual([
    '[Go on]',
    '904 changes since this view was opened; the list is paused.',
    '12:00:00 | (good) begins anew |  <#/keys/> |  | 1,003',
    '12:00:00 | (bad) expired | 0xff <#/keys/%FF> |  | 1,002',
  ])
  await click(root, 'Go on')
  expect(seen(root).slice(0, 3)).toEqual([
    '[Pause]',
    '904 changes since this view was opened.',
    '12:00:00 | (good) written | k899 <#/keys/k899> |  | 899',
  ])
  expect(root.all('tr')).toHaveLength(1 + 200)
  await type(root, 'b/')
  expect(seen(root)).toEqual([
    '[Pause]',
    '904 changes since this view was opened.',
    'Nothing has changed since this view was opened.',
  ])
  expect(said).toEqual([])
  view.stop()
  console.history.close()
  await wait(0)
  expect(vi.getTimerCount()).toBe(0)
})

test('changes that the member refuses', async () => {
  const { console } = member({ '/v1/watch': new Refusal(403, 'X', 'no right'), [LOCK_WATCH]: {} })
  const root = await opened(new Changes(console))
  expect(seen(root)).toEqual([
    '[Pause]',
    'no right',
    '0 changes since this view was opened.',
    'Nothing has changed since this view was opened.',
  ])
})
