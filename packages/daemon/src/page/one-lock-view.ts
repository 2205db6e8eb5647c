// Driver: the view of one lock: its holders, its queue of waiters, and its history.

import type { Console, View } from './shared-view-types.js'
import { may } from './signed-in-user-types.js'
import { button, el, fact, setText } from './html-elements.js'
import { type LockEvent, pastEvent, notReceived } from './lock-history-collector.js'
import { callers, heldFor, leftOf, type Lock, readLocks, type Waiter } from './locks-view.js'
import { ask, whyOf } from './confirm-dialog.js'
import { Table } from './keyed-html-table.js'
import { duration, encodedKey, shownHolder, shownKey, visible, whole } from './key-and-number-formatting.js'
import { every, now, Refresher, timeOfDay } from './browser-clock.js'

/** In ms. The view reads the lock at this interval, because the watch does not report renewals. */
const RENEWALS_MS = 2_000

interface Place extends Waiter {
  readonly place: number
  readonly at: number
}

export class OneLock implements View {
  readonly title: string
  readonly root = el('div', { class: 'view' })
  readonly #console: Console
  readonly #lock: string
  readonly #headline = el('p', { class: 'headline', role: 'status' })
  readonly #problem = el('p', { class: 'refused', role: 'alert', hidden: true })
  readonly #holders = el('div')
  readonly #waiters: Table<Place>
  readonly #events: Table<LockEvent>
  readonly #note = el('p', { class: 'note' })
  /** Changes from before the page was opened. The newest change is first. */
  #before: readonly LockEvent[] = []
  #isBeforeRead = false
  #shown = ''
  #held: readonly Lock[] = []
  #ticks: (() => void)[] = []
  #ends: (() => void)[] = []

  constructor(console: Console, lock: string) {
    this.#console = console
    this.#lock = lock
    this.title = shownKey(lock)
    const placeOf = ({ place, id }: Place) => `${place} ${id}`
    this.#waiters = new Table<Place>('Callers that wait, in their order', WAITERS, placeOf, 'Nobody waits.')
    this.#events = new Table<LockEvent>(
      'Changes, the newest first',
      EVENTS,
      ({ number, type, id, fencingToken }) => `${number} ${type} ${id} ${fencingToken}`,
      'Nothing has happened yet.',
    )
    this.root.append(
      el('p', {}, el('a', { href: '#/locks' }, '← All locks')),
      this.#headline,
      this.#problem,
      this.#holders,
      el('h2', {}, 'Waiting'),
      this.#waiters.root,
      el('h2', {}, 'History'),
      this.#note,
      this.#events.root,
    )
  }

  start(): void {
    const reader = new Refresher(() => this.#read(), 100)
    void reader.now()
    this.#showHistory()
    this.#ends = [
      this.#console.history.listen((lock) => {
        if (lock !== '' && lock !== this.#lock) return
        // With the name '' any lock may have changed: the watch was opened again, and the page may have
        // missed changes.
        if (lock === '') this.#isBeforeRead = false
        this.#showHistory()
        reader.soon()
      }),
      every(RENEWALS_MS, () => reader.soon()),
      every(1000, () => {
        for (const tick of this.#ticks) tick()
        this.#waiters.tick()
        this.#events.tick()
      }),
      () => reader.stop(),
    ]
  }

  stop(): void {
    for (const end of this.#ends) end()
  }

  #showHistory(): void {
    const received = this.#console.history.of(this.#lock)
    const told = [...received, ...this.#before]
    // The member's history may no longer have the beginning of a present hold or wait. The list of locks has
    // the times of these beginnings.
    const all = [...told, ...notReceived(this.#held.flatMap(beginsOf), told)].toSorted(
      (a, b) => b.when - a.when,
    )
    this.#events.show(all.slice(0, MOST_EVENTS))
    const { refusal } = this.#console.history
    if (refusal !== undefined) this.#events.sayEmpty(refusal.message)
  }

  async #read(): Promise<void> {
    try {
      // The first lock with this prefix is the lock itself, because names are sorted. With limit 1 the answer
      // has one lock, with all its holders.
      const { locks } = await readLocks(this.#console, `prefix=${this.#lock}&limit=1`)
      if (!this.#isBeforeRead) await this.#readBefore()
      this.#show(locks.filter((lock) => encodedKey(lock) === this.#lock))
      this.#problem.hidden = true
    } catch (error) {
      setText(this.#problem, whyOf(error))
      this.#problem.hidden = false
    }
  }

  async #readBefore(): Promise<void> {
    const { events, since } = await this.#console.history.before(this.#lock)
    this.#before = events
    this.#isBeforeRead = true
    const reach = now() - since
    setText(
      this.#note,
      `Everything since ${timeOfDay(reach)}: the member remembers 1,024 changes of all locks, and forgets them when it is restarted.`,
    )
  }

  #show(held: readonly Lock[]): void {
    const [first] = held
    const waiters = first?.waiters ?? 0
    const who =
      held.length > 1 ? `${held.length} holders share it` : first && `${shownHolder(first)} holds it`
    setText(this.#headline, who === undefined ? 'Nobody holds it.' : `${who}. ${callers(waiters)}`)
    this.#headline.dataset['mark'] = waiters > 0 ? 'warn' : 'good'
    this.#held = held
    const shown = held.map(({ id, fencingToken }) => `${id} ${fencingToken}`).join('\n')
    if (shown !== this.#shown || held.length === 0) this.#build()
    this.#shown = shown
    for (const tick of this.#ticks) tick()
    const at = first?.at ?? now()
    this.#showHistory()
    this.#waiters.show((first?.queue ?? []).map((waiter, i) => ({ ...waiter, place: i + 1, at })))
  }

  /**
   * Called only if the holders have changed. Otherwise a button would lose the keyboard focus at each update.
   */
  #build(): void {
    this.#ticks = []
    this.#holders.replaceChildren(...this.#held.map((_, at) => this.#card(at)))
  }

  #card(at: number): HTMLElement {
    const lock = this.#held[at] as Lock
    const left = el('span')
    const since = el('span')
    const acquires = el('span')
    const bar = el('meter', { min: '0', max: '1', 'aria-label': 'Lease left' })
    let longest = 1
    this.#ticks.push(() => {
      const present = this.#held[at] as Lock
      const millis = Math.max(0, present.remainingMillis - (now() - present.at))
      longest = Math.max(longest, present.remainingMillis)
      bar.value = millis / longest
      setText(left, leftOf(present))
      setText(since, heldFor(present))
      setText(acquires, present.acquires === 1 ? 'once' : `${whole(present.acquires)} times`)
    })
    return el(
      'section',
      { class: 'card', 'aria-label': 'Holder' },
      el(
        'dl',
        { class: 'facts' },
        wholeRow(fact('Holder', shownHolder(lock))),
        fact('Held for', since),
        fact('Lease left', el('span', {}, left, bar)),
        fact('Fencing token', String(lock.fencingToken)),
        fact('Mode', lock.mode),
        fact('Acquired', acquires),
        wholeRow(fact('Id', el('code', {}, visible(lock.id)))),
      ),
      may(this.#console.person, 'write') &&
        el(
          'div',
          { class: 'buttons' },
          button('Release by force…', () => this.#force(this.#held[at] as Lock), 'danger'),
        ),
    )
  }

  #force(lock: Lock): void {
    const next = lock.waiters > 0 ? 'The first waiter gets the lock.' : 'The lock is free then.'
    ask(this.#console, {
      title: `Release ${this.title} by force?`,
      text: `${shownHolder(lock)} is not asked, and may still be working: from then on, only writes with its fencing token ${lock.fencingToken} are refused. ${next}`,
      action: 'Release by force',
      run: async () => {
        const body = { fencingToken: lock.fencingToken }
        const answer = await this.#console.api.post<{ released: number }>(
          `/v1/locks/${this.#lock}:forceRelease`,
          body,
        )
        return answer?.released === 1 ? `${this.title} is released.` : 'That hold had already ended.'
      },
    })
  }
}

function wholeRow(shown: HTMLElement): HTMLElement {
  shown.classList.add('whole')
  return shown
}

const MOST_EVENTS = 100

/** Returns an event for the beginning of the hold, and an event for the beginning of each wait. */
function beginsOf(lock: Lock): LockEvent[] {
  const { id, context, contextBase64, fencingToken, sinceMillis, queue = [], at } = lock
  const whose = (who: Pick<Lock, 'context' | 'contextBase64'>) => ({
    ...(who.context !== undefined && { context: who.context }),
    ...(who.contextBase64 !== undefined && { contextBase64: who.contextBase64 }),
  })
  const event = (type: string, ago: number, more: { id: string; fencingToken: number }): LockEvent =>
    pastEvent({ ...more, number: 0, type, lock: encodedKey(lock) }, now() - at + ago)
  return [
    { ...event('acquired', sinceMillis, { id, fencingToken }), ...whose({ context, contextBase64 } as Lock) },
    ...queue.map((waiter) => ({
      ...event('queued', waiter.waitedMillis, { id: waiter.id, fencingToken: 0 }),
      ...whose(waiter),
    })),
  ]
}

const WAITERS = [
  { head: 'Place', text: ({ place }: Place) => String(place) },
  { head: 'Who', kind: 'wide', text: shownHolder },
  {
    head: 'Waits for',
    kind: 'number',
    text: ({ waitedMillis, at }: Place) => duration(waitedMillis + now() - at),
  },
  { head: 'Mode', text: ({ mode }: Place) => mode },
  { head: 'Id', kind: 'wide', text: ({ id }: Place) => visible(id) },
]

const MEANINGS: Readonly<Record<string, string>> = {
  acquired: 'acquired',
  released: 'released',
  expired: 'lease ended',
  queued: 'began to wait',
  left: 'stopped waiting',
  rotated: 'new token',
}

const EVENTS = [
  { head: 'Time', text: ({ time }: LockEvent) => time },
  { head: 'Ago', kind: 'number', text: ({ when }: LockEvent) => duration(now() - when) },
  {
    head: 'What',
    text: ({ type }: LockEvent) => MEANINGS[type] ?? type,
    mark: ({ type }: LockEvent) => (type === 'expired' ? 'bad' : type === 'acquired' ? 'good' : ''),
  },
  { head: 'Who', kind: 'wide', text: shownHolder },
  {
    head: 'Token',
    kind: 'number',
    text: ({ fencingToken }: LockEvent) => (fencingToken === 0 ? '–' : String(fencingToken)),
  },
]
