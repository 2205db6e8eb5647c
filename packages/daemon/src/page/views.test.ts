// Test: each view of the console shows what the member answers: every figure, colour and button, also after a
// change, a refusal and a click. A small document takes the place of the browser's, and time is manual.
// long: one small document and one scripted member serve the tests of all views

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Changes } from './changes-view.js'
import { Overview } from './cluster-view.js'
import { KeyList } from './keys-view.js'
import { LockHistory } from './lock-history-collector.js'
import { LockList } from './locks-view.js'
import { type Api, Refusal } from './member-requests.js'
import { OneKey } from './one-key-view.js'
import { OneLock } from './one-lock-view.js'
import { Sessions } from './sessions-view.js'

/** The part of an HTML element that the page uses. */
class Element {
  readonly attributes = new Map<string, string>()
  readonly dataset: Record<string, string> = {}
  readonly classList = { add: () => {} }
  readonly #listeners = new Map<string, (event: object) => void>()
  children: (Element | string)[] = []
  parent: Element | undefined
  disabled = false
  value: string | number = ''
  readonly tag: string

  constructor(tag: string) {
    this.tag = tag
  }

  get hidden(): boolean {
    return this.attributes.has('hidden')
  }
  set hidden(isHidden: boolean) {
    if (isHidden) this.setAttribute('hidden', '')
    else this.attributes.delete('hidden')
  }
  get textContent(): string {
    return this.children.map((child) => (typeof child === 'string' ? child : child.textContent)).join('')
  }
  set textContent(text: string) {
    this.replaceChildren(text)
  }
  get firstElementChild(): Element | null {
    return this.elements()[0] ?? null
  }
  get nextElementSibling(): Element | null {
    const all = this.parent?.elements() ?? []
    return all[all.indexOf(this) + 1] ?? null
  }
  elements(): Element[] {
    return this.children.filter((child) => child instanceof Element)
  }

  setAttribute(name: string, value: string): void {
    this.attributes.set(name, value)
    if (name === 'value') this.value = value
  }
  getAttribute(name: string): string | null {
    return this.attributes.get(name) ?? null
  }
  append(...children: (Element | string)[]): void {
    for (const child of children) this.insertBefore(child, null)
  }
  insertBefore(child: Element | string, at: Element | null): void {
    if (child instanceof Element) {
      child.remove()
      child.parent = this
    }
    this.children.splice(at === null ? this.children.length : this.children.indexOf(at), 0, child)
  }
  replaceChildren(...children: (Element | string)[]): void {
    this.children = []
    this.append(...children)
  }
  remove(): void {
    if (this.parent !== undefined) this.parent.children = this.parent.children.filter((one) => one !== this)
    this.parent = undefined
  }
  addEventListener(type: string, listener: (event: object) => void): void {
    this.#listeners.set(type, listener)
  }
  dispatch(type: string): void {
    this.#listeners.get(type)?.({ preventDefault: () => {} })
  }
  showModal(): void {}
  close(): void {
    this.dispatch('close')
  }
  focus(): void {
    focusOn(this)
  }

  /** All elements of this tag, in their order. */
  all(tag: string): Element[] {
    return this.elements().flatMap((child) => [...(child.tag === tag ? [child] : []), ...child.all(tag)])
  }
  querySelector(tag: string): Element | null {
    return this.all(tag)[0] ?? null
  }
}

let body: Element
let focused: Element | undefined
const focusOn = (element: Element) => (focused = element)
const page = { hash: '' }

beforeEach(() => {
  vi.useFakeTimers({ now: new Date(2026, 0, 1, 12) })
  body = new Element('body')
  page.hash = ''
  vi.stubGlobal('location', page)
  vi.stubGlobal('sessionStorage', { getItem: () => 'token' })
  vi.stubGlobal('document', {
    hidden: false,
    body,
    createElement: (tag: string) => new Element(tag),
    createElementNS: (_: string, tag: string) => new Element(tag),
  })
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const isShown = (element: Element) => !element.hidden
const marked = (element: Element, text: string) =>
  (element.dataset['mark'] ?? '') === '' ? text : `(${element.dataset['mark']}) ${text}`

/** What a person sees of an element, line by line: a row of a table is one line, and so is a fact. */
function seen(element: Element): string[] {
  if (!isShown(element)) return []
  if (element.tag === 'tr') return [element.children.map((cell) => cellText(cell as Element)).join(' | ')]
  if (element.attributes.get('class')?.startsWith('fact') === true && element.tag === 'div')
    return [element.children.map((part) => (part as Element).textContent).join(': ')]
  if (element.tag === 'button') return [`[${element.textContent}]${element.disabled ? ' disabled' : ''}`]
  if (['caption', 'thead', 'label', 'a', 'svg'].includes(element.tag)) return []
  const inner = element.children.filter((child) => child instanceof Element)
  if (inner.length > 0) return inner.flatMap(seen)
  return element.textContent === '' ? [] : [marked(element, element.textContent)]
}

function cellText(cell: Element): string {
  const [inner] = cell.children as [Element]
  const link = inner.getAttribute('href')
  const text = inner.tag === 'button' ? `[${inner.textContent}]` : inner.textContent
  return marked(inner, link === null ? text : `${text} <${link}>`)
}

type Answer = object | string | Refusal

/** A member whose answers the test sets by the beginning of the path; a watch sends its events when told. */
function member(answers: Record<string, Answer>, person: object = { rights: ['read', 'write', 'admin'] }) {
  const asked: string[] = []
  const said: string[] = []
  const posted: [string, unknown][] = []
  const watches = new Map<string, (data: object) => void>()
  const answerTo = (path: string): Answer => {
    asked.push(path)
    const known = Object.keys(answers)
      .filter((one) => path.startsWith(one))
      .toSorted((a, b) => b.length - a.length)
    return answers[known[0] ?? ''] ?? new Refusal(404, 'NONE', `no answer to ${path}`)
  }
  const given = async (path: string) => {
    const answer = answerTo(path)
    if (answer instanceof Refusal) throw answer
    return answer
  }
  const response = async (path: string, init?: { signal?: AbortSignal }) => {
    if (!path.includes('watch')) {
      const answer = await given(path)
      return answer instanceof Response ? answer.clone() : new Response(answer as string)
    }
    await given(path)
    return new Response(
      new ReadableStream({
        start: (to) => {
          const bytes = (data: object) => new TextEncoder().encode(`data: ${JSON.stringify(data)}\n\n`)
          watches.set(path, (data) => to.enqueue(bytes(data)))
          init?.signal?.addEventListener('abort', () => to.error(new Error('closed')))
        },
      }),
    )
  }
  const post = async (path: string, sent?: unknown) => {
    posted.push([path, sent])
    return await given(path)
  }
  const api = { get: given, response, post } as unknown as Api
  const everybody = { name: 'ana', rights: [], ...person }
  const history = new LockHistory(api, everybody)
  const console = { api, person: everybody, history, say: (text: string) => void said.push(text) }
  return {
    console,
    asked,
    said,
    posted,
    answers,
    tell: (path: string, data: object) => watches.get(path)?.(data),
  }
}

const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms)

/** Opens a view, and waits for its first reads. */
async function opened(view: { root: unknown; start(): void }): Promise<Element> {
  view.start()
  await wait(0)
  return view.root as Element
}

async function click(within: Element, label: string): Promise<void> {
  const found = within.all('button').find((one) => one.textContent === label && isShown(one))
  if (found === undefined) throw new Error(`there is no button ${label}`)
  found.dispatch('click')
  await wait(0)
}

async function type(within: Element, text: string): Promise<void> {
  const input = within.querySelector('input') as Element
  input.value = text
  input.dispatch('input')
  await wait(1_000)
}

const LOCK_WATCH = '/v1/locks:watch?prefix='

describe('the overview', () => {
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
      expect(focused?.textContent).toBe('Cancel')
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
})

describe('locks', () => {
  const lock = (key: string, more: object = {}) => ({
    key,
    id: `id-of-${key}`,
    mode: 'exclusive',
    fencingToken: 9,
    acquires: 1,
    remainingMillis: 30_000,
    sinceMillis: 2_000,
    waiters: 0,
    ...more,
  })
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

  const queue = [
    { id: 'w-1', context: 'bob', waitedMillis: 1_000, mode: 'exclusive' },
    { id: 'w-2', waitedMillis: 61_000, mode: 'shared' },
  ]
  const held = lock('orders/42', { context: 'ana', waiters: 2, queue, acquires: 2 })
  const past = (type: string, agoMillis: number, fencingToken = 8) => ({
    type,
    id: 'id-before',
    context: 'eve',
    fencingToken,
    agoMillis,
  })
  const lockAnswers = {
    [LOCK_WATCH]: {},
    '/v1/locks?': { locks: [held], next: null },
    '/v1/locks/orders%2F42:history': {
      sinceMillis: 60_000,
      history: [past('queued', 7_000, 0), past('acquired', 6_000), past('expired', 5_000)],
    },
  }

  // long: one view, followed through all its states
  test('one lock: its holder, its waiters and its history, as time passes and as it changes', async () => {
    const { console, asked, answers, tell } = member({ ...lockAnswers })
    const view = new OneLock(console, 'orders%2F42')
    const root = await opened(view)
    expect(seen(root)).toEqual([
      '(warn) ana holds it. 2 callers wait.',
      'Holder: ana',
      'Held for: 2.0 s',
      'Lease left: 30 s',
      'Fencing token: 9',
      'Mode: exclusive',
      'Acquired: 2 times',
      'Id: id-of-orders/42',
      '[Release by force…]',
      'Waiting',
      '1 | bob | 1.0 s | exclusive | w-1',
      '2 | w-2 | 61 s | shared | w-2',
      'History',
      'Everything since 11:59:00: the member remembers 1,024 changes of all locks, and forgets them when it is restarted.',
      '11:59:59 | 1.0 s | began to wait | bob | –',
      '11:59:58 | 2.0 s | (good) acquired | ana | 9',
      '11:59:55 | 5.0 s | (bad) lease ended | eve | 8',
      '11:59:54 | 6.0 s | (good) acquired | eve | 8',
      '11:59:53 | 7.0 s | began to wait | eve | –',
      '11:58:59 | 61 s | began to wait | w-2 | –',
    ])
    const meter = root.querySelector('meter')
    expect(meter?.value).toBe(1)
    await wait(15_000)
    expect(meter?.value).toBeCloseTo(0.95, 1)
    tell(LOCK_WATCH, { ...past('released', 0, 9), id: held.id, context: 'ana', key: 'orders/42' })
    tell(LOCK_WATCH, { ...past('rotated', 0, 9), id: 'other', key: 'another' })
    answers['/v1/locks?'] = { locks: [lock('orders/42'), lock('orders/42', { id: 'second' })], next: null }
    await wait(1_000)
    expect(seen(root)).toEqual([
      '(good) 2 holders share it. Nobody waits.',
      'Holder: id-of-orders/42',
      'Held for: 2.9 s',
      'Lease left: 29 s',
      'Fencing token: 9',
      'Mode: exclusive',
      'Acquired: once',
      'Id: id-of-orders/42',
      '[Release by force…]',
      'Holder: second',
      'Held for: 2.9 s',
      'Lease left: 29 s',
      'Fencing token: 9',
      'Mode: exclusive',
      'Acquired: once',
      'Id: second',
      '[Release by force…]',
      'Waiting',
      'Nobody waits.',
      'History',
      'Everything since 11:59:00: the member remembers 1,024 changes of all locks, and forgets them when it is restarted.',
      '12:00:15 | 1.0 s | released | ana | 9',
      '12:00:13 | 2.9 s | (good) acquired | second | 9',
      '12:00:13 | 2.9 s | (good) acquired | id-of-orders/42 | 9',
      '11:59:55 | 21 s | (bad) lease ended | eve | 8',
      '11:59:54 | 22 s | (good) acquired | eve | 8',
      '11:59:53 | 23 s | began to wait | eve | –',
    ])
    answers['/v1/locks?'] = { locks: [lock('orders/421')], next: null }
    await wait(2_000)
    expect(seen(root).slice(0, 4)).toEqual(['(good) Nobody holds it.', 'Waiting', 'Nobody waits.', 'History'])
    expect(asked.filter((path) => path.includes('history'))).toHaveLength(1)
    view.stop()
    console.history.close()
    await wait(0)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('one lock: only another holder builds the button anew, so that it keeps the focus', async () => {
    const { console, answers } = member({ ...lockAnswers })
    const root = await opened(new OneLock(console, 'orders%2F42'))
    const [button] = root.all('button')
    answers['/v1/locks?'] = {
      locks: [{ ...held, remainingMillis: 10_000, waiters: 0, queue: [] }],
      next: null,
    }
    await wait(2_000)
    expect(root.all('button')[0]).toBe(button)
    expect(seen(root).slice(0, 8)).toEqual([
      '(good) ana holds it. Nobody waits.',
      'Holder: ana',
      'Held for: 3.9 s',
      'Lease left: 8.1 s',
      'Fencing token: 9',
      'Mode: exclusive',
      'Acquired: 2 times',
      'Id: id-of-orders/42',
    ])
    answers['/v1/locks?'] = { locks: [{ ...held, fencingToken: 10 }], next: null }
    await wait(2_000)
    expect(root.all('button')[0]).not.toBe(button)
  })

  test('one lock: a release by force is asked first, and says what came of it', async () => {
    const force = '/v1/locks/orders%2F42:forceRelease'
    const { console, answers, posted, said } = member({ ...lockAnswers, [force]: { released: 1 } })
    const root = await opened(new OneLock(console, 'orders%2F42'))
    await click(root, 'Release by force…')
    expect(body.all('dialog').flatMap(seen)).toEqual([
      'Release orders/42 by force?',
      'ana is not asked, and may still be working: from then on, only writes with its fencing token 9 are refused. The first waiter gets the lock.',
      '[Cancel]',
      '[Release by force]',
    ])
    await click(body, 'Cancel')
    expect([body.all('dialog'), posted]).toEqual([[], []])
    for (const answer of [{ released: 1 }, { released: 0 }, new Refusal(503, 'X', 'no leader')]) {
      answers[force] = answer
      await click(root, 'Release by force…')
      await click(body, 'Release by force')
    }
    // After a refusal the dialog stays, says why, and lets the person try again.
    expect(body.all('dialog').flatMap(seen)).toEqual([
      'Release orders/42 by force?',
      'ana is not asked, and may still be working: from then on, only writes with its fencing token 9 are refused. The first waiter gets the lock.',
      'no leader',
      '[Cancel]',
      '[Release by force]',
    ])
    expect(posted).toEqual([
      [
        '/v1/locks/orders%2F42:forceRelease',
        {
          fencingToken: 9,
        },
      ],
      [
        '/v1/locks/orders%2F42:forceRelease',
        {
          fencingToken: 9,
        },
      ],
      [
        '/v1/locks/orders%2F42:forceRelease',
        {
          fencingToken: 9,
        },
      ],
    ])
    expect(said).toEqual(['orders/42 is released.', 'That hold had already ended.'])
    answers['/v1/locks?'] = { locks: [lock('orders/42')], next: null }
    await wait(2_000)
    body.all('dialog')[0]?.close()
    await click(root, 'Release by force…')
    expect(body.all('dialog').flatMap(seen)[1]).toMatch(/ are refused\. The lock is free then\.$/)
    const reader = await opened(
      new OneLock(member({ ...lockAnswers }, { rights: ['read'] }).console, 'orders%2F42'),
    )
    expect(reader.all('button')).toEqual([])
  })

  test('a history that the member refuses says why', async () => {
    const refused = new Refusal(403, 'ERR_FORBIDDEN', 'the token has no right to watch')
    const { console } = member({ ...lockAnswers, '/v1/locks?': { locks: [] }, [LOCK_WATCH]: refused })
    const root = await opened(new OneLock(console, 'orders%2F42'))
    await wait(1_000)
    expect(seen(root)).toEqual([
      '(good) Nobody holds it.',
      'Waiting',
      'Nobody waits.',
      'History',
      'Everything since 11:59:00: the member remembers 1,024 changes of all locks, and forgets them when it is restarted.',
      '11:59:55 | 6.0 s | (bad) lease ended | eve | 8',
      '11:59:54 | 7.0 s | (good) acquired | eve | 8',
      '11:59:53 | 8.0 s | began to wait | eve | –',
    ])
    const nothing = member({ '/v1/locks?': new Refusal(503, 'X', 'no leader'), [LOCK_WATCH]: {} })
    expect(seen(await opened(new OneLock(nothing.console, 'k')))).toEqual([
      'no leader',
      'Waiting',
      'Nobody waits.',
      'History',
      'Nothing has happened yet.',
    ])
  })
})

describe('keys', () => {
  const WATCH = '/v1/watch?prefix='

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
    tell(`${WATCH}a%2F`, { type: 'put', key: 'a/1' })
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
})

describe('sessions', () => {
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
})
