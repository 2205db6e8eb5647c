// Driver: the view of one key: its value in several forms, its revisions, and the time until it expires.

import { Refusal, Stream } from './member-requests.js'
import type { Console, View } from './shared-view-types.js'
import { button, el, fact, setText } from './html-elements.js'
import { whyOf } from './confirm-dialog.js'
import { duration, shownKey, size, whole } from './key-and-number-formatting.js'
import { every, now, Refresher } from './browser-clock.js'
import { bestForm, type Form, FORMS, inForm, MOST_SHOWN } from './value-display-formats.js'

const NAMES = ['Changed at revision', 'Created at revision', 'Version', 'Size', 'Lives for'] as const

export class OneKey implements View {
  readonly title: string
  readonly root = el('div', { class: 'view' })
  readonly #console: Console
  readonly #key: string
  readonly #problem = el('p', { class: 'refused', role: 'alert', hidden: true })
  readonly #facts = new Map<string, HTMLElement>()
  readonly #value = el('pre', { tabindex: '0', 'aria-label': 'Value' })
  readonly #note = el('p', { class: 'note', hidden: true })
  readonly #forms: readonly HTMLButtonElement[]
  #bytes = new Uint8Array()
  #chosen: Form | undefined
  #ends: (() => void)[] = []
  #expiresAt: number | undefined

  constructor(console: Console, key: string) {
    this.#console = console
    this.#key = key
    this.title = shownKey(key)
    this.#forms = FORMS.map((form) =>
      button(form, () => {
        this.#chosen = form
        this.#write()
      }),
    )
    const facts = NAMES.map((name) => {
      const value = el('span', {}, '–')
      this.#facts.set(name, value)
      return fact(name, value)
    })
    this.root.append(
      el('p', {}, el('a', { href: '#/keys' }, '← All keys')),
      this.#problem,
      el('dl', { class: 'facts' }, ...facts),
      el('h2', {}, 'Value'),
      el('div', { class: 'choice', role: 'group', 'aria-label': 'Form of the value' }, ...this.#forms),
      this.#note,
      this.#value,
    )
  }

  start(): void {
    const reader = new Refresher(() => this.#read(), 200)
    void reader.now()
    const watch = new Stream(this.#console.api, `/v1/watch?key=${this.#key}&as=base64`, {
      event: () => reader.soon(),
      opened: () => reader.soon(),
      refused: () => {},
    })
    this.#ends = [() => watch.close(), () => reader.stop(), every(1000, () => this.#showTimeLeft())]
  }

  stop(): void {
    for (const end of this.#ends) end()
  }

  async #read(): Promise<void> {
    try {
      const response = await this.#console.api.response(`/v1/kv/${this.#key}`)
      const bytes = new Uint8Array(await response.arrayBuffer())
      const header = (name: string) => response.headers.get(name)
      const life = header('latchkey-remaining-millis')
      this.#expiresAt = life === null ? undefined : now() + Number(life)
      this.#set('Changed at revision', whole(Number(header('etag')?.replaceAll('"', ''))))
      this.#set('Created at revision', whole(Number(header('latchkey-create-revision'))))
      this.#set('Version', whole(Number(header('latchkey-version'))))
      this.#set('Size', size(bytes.length))
      this.#showTimeLeft()
      this.#bytes = bytes
      this.#problem.hidden = true
      this.#value.hidden = false
      this.#write()
    } catch (error) {
      const isGone = error instanceof Refusal && error.status === 404
      setText(this.#problem, isGone ? 'There is no value under this key now.' : whyOf(error))
      this.#problem.hidden = false
      if (isGone) this.#value.hidden = true
    }
  }

  #set(name: (typeof NAMES)[number], text: string): void {
    setText(this.#facts.get(name) as HTMLElement, text)
  }

  #showTimeLeft(): void {
    this.#set('Lives for', this.#expiresAt === undefined ? 'ever' : duration(this.#expiresAt - now()))
  }

  #write(): void {
    const bytes = this.#bytes.subarray(0, MOST_SHOWN)
    const isCut = bytes.length < this.#bytes.length
    const shown = new Map(FORMS.map((form) => [form, inForm(bytes, form)]))
    const chosen = this.#chosen
    const form = chosen !== undefined && shown.get(chosen) !== undefined ? chosen : bestForm(bytes)
    for (const [at, name] of FORMS.entries()) {
      const choice = this.#forms[at] as HTMLButtonElement
      choice.disabled = shown.get(name) === undefined
      choice.setAttribute('aria-pressed', String(name === form))
    }
    setText(this.#value, shown.get(form) ?? '')
    this.#note.hidden = !isCut
    setText(this.#note, isCut ? `The first ${size(MOST_SHOWN)} of ${size(this.#bytes.length)}.` : '')
  }
}
