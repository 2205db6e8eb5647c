// Driver: the view that lists keys and values. The member's watch keeps the list up to date.

import { Stream } from './member-requests.js'
import type { Console, View } from './shared-view-types.js'
import { button, el, field, setText } from './html-elements.js'
import { whyOf } from './confirm-dialog.js'
import { Table } from './keyed-html-table.js'
import { encodedKey, type SentKey, shownKey, whole } from './key-and-number-formatting.js'
import { after, Refresher } from './browser-clock.js'
import { preview, type SentValue } from './value-display-formats.js'

interface Entry extends SentKey {
  readonly value: SentValue
  readonly modRevision: number
}

interface Page {
  readonly entries: readonly Entry[]
  readonly next: string | null
  readonly revision: number
}

const ROWS = 50
/** In ms. After the last key press, the view waits this long and then reads the list again. */
const TYPING_MS = 250

export class KeyList implements View {
  readonly title = 'Keys'
  readonly root = el('div', { class: 'view' })
  readonly #console: Console
  readonly #table = new Table<Entry>('Keys and their values', COLUMNS, encodedKey, 'No key begins with this.')
  readonly #problem = el('p', { class: 'refused', role: 'alert', hidden: true })
  readonly #sum = el('p', { class: 'note', role: 'status' })
  readonly #more: HTMLButtonElement
  readonly #first: HTMLButtonElement
  #prefix: string
  #after: string | undefined
  #next: string | null = null
  #reader = new Refresher(() => this.#read())
  #watch: Stream | undefined
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
    this.#more = button('Next page', () => this.#go(this.#next ?? undefined))
    this.#first = button('First page', () => this.#go(undefined))
    const form = el('form', { class: 'bar', role: 'search' }, prefix.root)
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      if (this.#prefix !== '') location.hash = `#/keys/${encodedKey({ key: this.#prefix })}`
    })
    this.root.append(form, this.#problem, this.#sum, this.#table.root)
    this.root.append(el('div', { class: 'buttons' }, this.#first, this.#more))
  }

  start(): void {
    this.#reader = new Refresher(() => this.#read())
    this.#follow()
  }

  stop(): void {
    this.#typing()
    this.#watch?.close()
    this.#reader.stop()
  }

  #follow(): void {
    this.#watch?.close()
    this.#go(undefined)
    this.#watch = new Stream(this.#console.api, `/v1/watch?prefix=${encodedKey({ key: this.#prefix })}`, {
      event: () => this.#reader.soon(),
      opened: () => this.#reader.soon(),
      // Nothing is shown here. The read of the list fails with the same refusal, and the view then shows the
      // reason.
      refused: () => {},
    })
  }

  #go(from: string | undefined): void {
    this.#after = from
    void this.#reader.now()
  }

  async #read(): Promise<void> {
    const from = this.#after === undefined ? '' : `&after=${encodeURIComponent(this.#after)}`
    const prefix = encodedKey({ key: this.#prefix })
    try {
      this.#show(await this.#console.api.get<Page>(`/v1/kv?prefix=${prefix}&limit=${ROWS}${from}`))
      this.#problem.hidden = true
    } catch (error) {
      setText(this.#problem, whyOf(error))
      this.#problem.hidden = false
    }
  }

  #show({ entries, next, revision }: Page): void {
    this.#next = next
    this.#table.show(entries)
    const more = next === null ? '' : ' and more'
    setText(this.#sum, `${whole(entries.length)} keys${more}, at revision ${whole(revision)}.`)
    this.#more.hidden = next === null
    this.#first.hidden = this.#after === undefined
  }
}

const COLUMNS = [
  {
    head: 'Key',
    kind: 'wide',
    text: (entry: Entry) => shownKey(encodedKey(entry)),
    link: (entry: Entry) => `#/keys/${encodedKey(entry)}`,
  },
  { head: 'Value', kind: 'wide value', text: ({ value }: Entry) => preview(value) },
  { head: 'Changed at', kind: 'number', text: ({ modRevision }: Entry) => whole(modRevision) },
]
