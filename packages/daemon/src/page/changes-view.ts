// Driver: the view that shows changes of keys while they happen.

import { Stream } from './member-requests.js'
import type { Console, View } from './shared-view-types.js'
import { button, el, field, setText } from './html-elements.js'
import { Table } from './keyed-html-table.js'
import { encodedKey, type SentKey, shownKey, whole } from './key-and-number-formatting.js'
import { after, timeOfDay } from './browser-clock.js'
import { preview, type SentValue } from './value-display-formats.js'

interface Change extends SentKey {
  readonly number: number
  readonly type: string
  readonly reason?: string
  readonly revision: number
  readonly value?: SentValue
  readonly time: string
}

const ROWS = 200
/** The least time between two updates of the view, in ms. */
const DRAW_MS = 250
const TYPING_MS = 250

export class Changes implements View {
  readonly title = 'Changes'
  readonly root = el('div', { class: 'view' })
  readonly #console: Console
  readonly #table = new Table<Change>(
    'Changes, the newest first',
    COLUMNS,
    ({ number }) => String(number),
    'Nothing has changed since this view was opened.',
  )
  readonly #problem = el('p', { class: 'refused', role: 'alert', hidden: true })
  readonly #sum = el('p', { class: 'note' })
  readonly #pause: HTMLButtonElement
  #prefix: string
  #changes: Change[] = []
  #count = 0
  #isPaused = false
  #watch: Stream | undefined
  #drawing: (() => void) | undefined
  #typing = () => {}

  constructor(console: Console) {
    this.#console = console
    this.#prefix = console.person.keys?.[0]?.prefix ?? ''
    const attributes = { type: 'search', placeholder: 'orders/', value: this.#prefix, name: 'prefix' }
    const prefix = field('Keys that begin with', attributes, (text) => {
      this.#prefix = text
      this.#typing()
      this.#typing = after(TYPING_MS, () => this.#follow())
    })
    this.#pause = button('Pause', () => {
      this.#isPaused = !this.#isPaused
      setText(this.#pause, this.#isPaused ? 'Go on' : 'Pause')
      this.#draw()
    })
    const form = el('form', { class: 'bar', role: 'search' }, prefix.root, this.#pause)
    form.addEventListener('submit', (event) => event.preventDefault())
    this.root.append(form, this.#problem, this.#sum, this.#table.root)
  }

  start(): void {
    this.#follow()
  }

  stop(): void {
    this.#typing()
    this.#drawing?.()
    this.#watch?.close()
  }

  #follow(): void {
    this.#watch?.close()
    this.#problem.hidden = true
    this.#changes = []
    this.#draw()
    this.#watch = new Stream(this.#console.api, `/v1/watch?prefix=${encodedKey({ key: this.#prefix })}`, {
      event: (data) => this.#onEvent(data),
      opened: (again) => {
        if (again) this.#console.say('The watch is connected again.')
      },
      refused: ({ message }) => {
        setText(this.#problem, message)
        this.#problem.hidden = false
      },
    })
  }

  #onEvent(data: Record<string, unknown>): void {
    const { type, key, keyBase64 } = data as { type?: string } & SentKey
    if (key === undefined && keyBase64 === undefined && type !== 'reset') return
    this.#count += 1
    this.#changes.push({ ...(data as unknown as Change), number: this.#count, time: timeOfDay() })
    if (this.#changes.length > ROWS * 4) this.#changes = this.#changes.slice(-ROWS)
    this.#drawing ??= after(DRAW_MS, () => {
      this.#drawing = undefined
      this.#draw()
    })
  }

  #draw(): void {
    const since = `${whole(this.#count)} changes since this view was opened`
    setText(this.#sum, this.#isPaused ? `${since}; the list is paused.` : `${since}.`)
    if (!this.#isPaused) this.#table.show(this.#changes.slice(-ROWS).toReversed())
  }
}

const MEANINGS: Readonly<Record<string, string>> = { put: 'written', delete: 'deleted', reset: 'begins anew' }

const COLUMNS = [
  { head: 'Time', text: ({ time }: Change) => time },
  {
    head: 'What',
    text: ({ type, reason }: Change) => (reason === 'expired' ? 'expired' : (MEANINGS[type] ?? type)),
    mark: ({ type }: Change) => (type === 'delete' ? 'bad' : 'good'),
  },
  {
    head: 'Key',
    kind: 'wide',
    text: (change: Change) => shownKey(encodedKey(change)),
    link: (change: Change) => `#/keys/${encodedKey(change)}`,
  },
  {
    head: 'Value',
    kind: 'wide value',
    text: ({ value }: Change) => (value === undefined ? '' : preview(value)),
  },
  { head: 'Revision', kind: 'number', text: ({ revision }: Change) => whole(revision) },
]
