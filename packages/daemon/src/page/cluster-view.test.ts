// Test: what the view of the cluster shows, also after a change, a refusal or a click.

import { expect, test, vi } from 'vitest'
import { Overview } from './cluster-view.js'
import { Refusal } from './member-requests.js'
import { member } from './testing/scripted-member.js'
import {
  body,
  click,
  type Element,
  focusedElement,
  opened,
  seen,
  useSimulatedDocument,
  wait,
} from './testing/simulated-document.js'

useSimulatedDocument()

const status = {
  id: 'a',
  leader: 'a',
  term: 7,
  applied: 12_345,
  clusterId: 'c-1',
  version: '0.1.0',
  uptimeMillis: 61_000,
  disk: { freeBytes: 3 * 1024 ** 3, stateBytes: 2048 },
  members: [
    { id: 'a', url: 'ws://h:1', role: 'voter' },
    { id: 'b', url: 'ws://h:2', role: 'voter', lag: 3, alive: true, sinceMillis: 5_000 },
    { id: 'c', url: 'wss://h:3', role: 'learner', alive: false },
  ],
}
const figures = (calls: number) =>
  [
    `latchkey_requests_total{kind="read"} ${calls}`,
    'latchkey_revision 1200',
    'latchkey_holds 4',
    'latchkey_waiters 3',
    'latchkey_sessions 2',
    'latchkey_watches 1',
    ...['+Inf', '0.008'].map((le) => `latchkey_commit_duration_seconds_bucket{le="${le}"} ${calls}`),
  ].join('\n')

test('its headline, its members and its figures, and they follow the member', async () => {
  const { console, answers } = member({ '/status': status, '/metrics': figures(100) })
  const root = await opened(new Overview(console))
  expect(seen(root)).toEqual([
    '(warn) a leads in term 7. 1 of 3 members do not answer.',
    'Calls and latencies',
    'Calls a second: –',
    'Writes take (99 %): –',
    'Reads take (99 %): –',
    'Commits take (99 %): 7.9 ms',
    'Log syncs take (99 %): –',
    'Members',
    '(leader) a | leader | (good) this member runs | – | – | http://h:1/ <http://h:1/> | [Hand over]',
    'b | follower | (good) connected | 5.0 s | 3 | http://h:2/ <http://h:2/> | [Make leader]',
    'c | learner | (bad) does not answer | – | – | https://h:3/ <https://h:3/> | [Make leader]',
    'What is in the store',
    'Locks held: 4',
    'Callers that wait: 3',
    'Sessions: 2',
    'Watches here: 1',
    'Keys’ revision: 1,200',
    'State on disk: 2.0 KiB',
    'This member',
    'Version: 0.1.0',
    'Running for: 61 s',
    'Applied entries: 12,345',
    'Disk free: 3.0 GiB',
    'Cluster: c-1',
  ])
  // 1.2 s after the first reading there are rates, and the third reading draws a line.
  answers['/metrics'] = figures(220)
  await wait(1_200)
  expect(seen(root).slice(1, 3)).toEqual(['Calls and latencies', 'Calls a second: –'])
  answers['/status'] = { ...status, leader: 'b', term: 8, members: status.members.slice(0, 2) }
  answers['/metrics'] = figures(600)
  await wait(10_000)
  expect(seen(root).slice(0, 12)).toEqual([
    '(good) b leads in term 8. All members answer.',
    'Calls and latencies',
    'Calls a second: 0',
    'Writes take (99 %): –',
    'Reads take (99 %): –',
    'Commits take (99 %): 7.9 ms',
    'Log syncs take (99 %): –',
    'Calls a second since this view was opened, five minutes at most: now 0, at most 227',
    'Members',
    'a | follower | (good) this member runs | – | – | http://h:1/ <http://h:1/> | [Make leader]',
    '(leader) b | leader | (good) connected | 5.0 s | 3 | http://h:2/ <http://h:2/> | [Hand over]',
    'What is in the store',
  ])
  expect(root.all('polyline').map((line) => line.getAttribute('points'))).toEqual(['0,8 300,78 600,78'])
})

test('no leader, no disk, a single member, and a member that refuses', async () => {
  const alone = { id: 'a', term: 1, members: status.members.slice(0, 1), clusterId: '', disk: undefined }
  const { console, answers } = member({ '/status': { ...status, ...alone, leader: undefined } })
  const view = new Overview(console)
  const root = await opened(view)
  expect(seen(root)).toEqual([
    '(bad) Nobody leads. The members elect a leader.',
    'Calls and latencies',
    'Calls a second: –',
    'Writes take (99 %): –',
    'Reads take (99 %): –',
    'Commits take (99 %): –',
    'Log syncs take (99 %): –',
    'Members',
    'a | follower | (good) this member runs | – | – | http://h:1/ <http://h:1/> | [Make leader]',
    'What is in the store',
    'Locks held: –',
    'Callers that wait: –',
    'Sessions: –',
    'Watches here: –',
    'Keys’ revision: –',
    'State on disk: in memory',
    'This member',
    'Version: 0.1.0',
    'Running for: 61 s',
    'Applied entries: 12,345',
    'Disk free: in memory',
    'Cluster: –',
  ])
  answers['/status'] = { ...status, ...alone }
  await wait(4_000)
  expect(seen(root)[0]).toBe('(good) a leads in term 1. It is the only member.')
  answers['/status'] = new Refusal(403, 'ERR_FORBIDDEN', 'no right')
  await wait(4_000)
  expect(seen(root)[1]).toBe('no right')
  answers['/status'] = { ...status, leader: undefined, whyNoLeader: 'Too few members.' }
  await wait(4_000)
  expect(seen(root).slice(0, 2)).toEqual(['(bad) Nobody leads. Too few members.', 'Calls and latencies'])
  view.stop()
  expect(vi.getTimerCount()).toBe(0)
})

test('a transfer is asked first, and names the member; without the right admin there is no button', async () => {
  const answers = { '/status': status, '/v1/members': {} }
  const { console, posted, said } = member(answers)
  const root = await opened(new Overview(console))
  for (const [label, title, unless] of [
    ['Hand over', 'Hand over the leadership of a?', 'no other member is'],
    ['Make leader', 'Make b the leader?', 'b is not'],
  ] as const) {
    await click(root, label)
    expect(body.all('dialog').flatMap(seen)).toEqual([
      title,
      `Calls wait until the new leader serves, which is usually well below a second. Locks stay with their holders. If ${unless} up to date, nothing changes.`,
      '[Cancel]',
      `[${label}]`,
    ])
    expect(focusedElement()?.textContent).toBe('Cancel')
    await click(body.all('dialog')[0] as Element, label)
  }
  expect(body.all('dialog')).toEqual([])
  const transfer = '/v1/members:transferLeadership?timeout=5s'
  expect(posted).toEqual([
    [transfer, {}],
    [transfer, { to: 'b' }],
  ])
  expect(said).toEqual(['a has handed over the leadership.', 'b leads now.'])
  const reader = await opened(new Overview(member(answers, { rights: ['read'] }).console))
  expect(reader.all('button')).toEqual([])
})
