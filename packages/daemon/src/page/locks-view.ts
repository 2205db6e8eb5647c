// Driver: the view that lists held locks and their waiters. The member's watch of locks keeps the list up to
// date.

import { type Console, type View } from './shared-view-types.js'
import { button, el, field, setText } from './html-elements.js'
import { whyOf } from './confirm-dialog.js'
import { Table } from './keyed-html-table.js'
import {
  duration,
  encodedKey,
  type SentKey,
  shownHolder,
  shownKey,
  whole,
} from './key-and-number-formatting.js'
import { every, now, Refresher } from './browser-clock.js'

export interface Waiter {
  readonly id: string
  readonly context?: string
  readonly contextBase64?: string
  readonly waitedMillis: number
  readonly mode: string
}

export interface Lock extends SentKey {
  readonly id: string
  readonly context?: string
  readonly contextBase64?: string
  readonly mode: string
  readonly fencingToken: number
  readonly acquires: number
  readonly remainingMillis: number
  readonly sinceMillis: number
  readonly waiters: number
  readonly queue?: readonly Waiter[]
  /** The time at which the page received this state of the lock, by the browser's clock. */
  readonly at: number
}

interface LockPage {
  readonly locks: readonly Lock[]
  readonly next: string | null
}

export async function readLocks({ api }: Console, query: string): Promise<LockPage> {
  const page = await api.get<LockPage>(`/v1/locks?${query}`)
  const at = now()
  return { ...page, locks: page.locks.map((lock) => ({ ...lock, at })) }
}

export const leftOf = ({ remainingMillis, at }: Lock): string => duration(remainingMillis - (now() - at))
export const heldFor = ({ sinceMillis, at }: Lock): string => duration(sinceMillis + now() - at)

export const callers = (count: number): string =>
  count === 0 ? 'Nobody waits.' : `${whole(count)} ${count === 1 ? 'caller waits' : 'callers wait'}.`

const ROWS = 100
/** In ms. The view reads the list at this interval, because the watch does not report renewals. */
const RENEWALS_MS = 5_000

export class LockList implements View {
  readonly title = 'Locks'
  readonly root = el('div', { class: 'view' })
  readonly #console: Console
  readonly #table: Table<Lock>
  readonly #problem = el('p', { class: 'refused', role: 'alert', hidden: true })
  readonly #sum = el('p', { class: 'note', role: 'status' })
  readonly #more: HTMLButtonElement
  readonly #first: HTMLButtonElement
  #prefix = ''
  #after: string | undefined
  #next: string | null = null
  #reader = this.#newReader()
  #ends: (() => void)[] = []

  constructor(console: Console) {
    this.#console = console
    this.#prefix = console.person.locks?.[0]?.prefix ?? ''
    this.#table = new Table('Locks that are held', COLUMNS, keyOf, 'No lock is held here.')
    const prefix = field(
      'Locks that begin with',
      { type: 'search', placeholder: 'orders/', value: this.#prefix, name: 'prefix' },
      (text) => {
        this.#prefix = text
        this.#go(undefined)
      },
    )
    this.#more = button('Next page', () => this.#go(this.#next ?? undefined))
    this.#first = button('First page', () => this.#go(undefined))
    this.root.append(
      el('form', { class: 'bar', role: 'search' }, prefix.root),
      this.#problem,
      this.#sum,
      this.#table.root,
      el('div', { class: 'buttons' }, this.#first, this.#more),
    )
    this.root.querySelector('form')?.addEventListener('submit', (event) => {
      event.preventDefault()
      this.#openExact()
    })
  }

  #openExact(): void {
    if (this.#prefix !== '') location.hash = `#/locks/${encodedKey({ key: this.#prefix })}`
  }

  start(): void {
    this.#reader = this.#newReader()
    void this.#reader.now()
    this.#ends = [
      this.#console.history.listen(() => this.#reader.soon()),
      every(RENEWALS_MS, () => this.#reader.soon()),
      every(1000, () => this.#table.tick()),
      () => this.#reader.stop(),
    ]
  }

  stop(): void {
    for (const end of this.#ends) end()
  }

  /**
   * The reader makes long pauses between reads, because the member reads all locks with the prefix at each
   * read.
   */
  #newReader(): Refresher {
    return new Refresher(() => this.#read(), 500, 40, 2_500)
  }

  #go(after: string | undefined): void {
    this.#after = after
    void this.#reader.now()
  }

  async #read(): Promise<void> {
    const after = this.#after === undefined ? '' : `&after=${encodeURIComponent(this.#after)}`
    try {
      const prefix = encodedKey({ key: this.#prefix })
      this.#show(await readLocks(this.#console, `prefix=${prefix}&limit=${ROWS}${after}`))
      this.#problem.hidden = true
    } catch (error) {
      setText(this.#problem, whyOf(error))
      this.#problem.hidden = false
    }
  }

  #show({ locks, next }: LockPage): void {
    this.#next = next
    this.#table.show(locks)
    const waiting = locks.reduce((all, { waiters }) => all + waiters, 0)
    const part = next === null && this.#after === undefined ? '' : ' on this page; there are more'
    setText(this.#sum, `${whole(locks.length)} held${part}. ${callers(waiting)}`)
    this.#more.hidden = next === null
    this.#first.hidden = this.#after === undefined
  }
}

const keyOf = (lock: Lock): string => `${encodedKey(lock)} ${lock.fencingToken}`

const COLUMNS = [
  {
    head: 'Lock',
    kind: 'wide',
    text: (lock: Lock) => shownKey(encodedKey(lock)),
    link: (lock: Lock) => `#/locks/${encodedKey(lock)}`,
  },
  { head: 'Holder', kind: 'wide', text: shownHolder },
  {
    head: 'Waiting',
    kind: 'number',
    text: ({ waiters }: Lock) => whole(waiters),
    mark: ({ waiters }: Lock) => (waiters > 0 ? 'warn' : ''),
  },
  { head: 'Held for', kind: 'number', text: heldFor },
  { head: 'Lease left', kind: 'number', text: leftOf },
  { head: 'Token', kind: 'number', text: ({ fencingToken }: Lock) => String(fencingToken) },
  { head: 'Mode', text: ({ mode }: Lock) => mode },
]
