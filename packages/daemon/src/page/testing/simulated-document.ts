// Test: a small document that takes the place of the browser's, and functions that read it and click in it.

import { afterEach, beforeEach, vi } from 'vitest'

/** The part of an HTML element that the page uses. */
export class Element {
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

export const body = new Element('body')
export const page = { hash: '' }
let focused: Element | undefined
const focusOn = (element: Element) => (focused = element)
export const focusedElement = () => focused

/** Gives each test of the file an empty document, and timers that the test advances. */
export function useSimulatedDocument(): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: new Date(2026, 0, 1, 12) })
    body.replaceChildren()
    page.hash = ''
    focused = undefined
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
}

const isShown = (element: Element) => !element.hidden
const marked = (element: Element, text: string) =>
  (element.dataset['mark'] ?? '') === '' ? text : `(${element.dataset['mark']}) ${text}`

/** Returns the lines that a person sees. A row of a table is one line, and so is a fact. */
export function seen(element: Element): string[] {
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

export const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms)

/** Opens a view, and waits for its first reads. */
export async function opened(view: { root: unknown; start(): void }): Promise<Element> {
  view.start()
  await wait(0)
  return view.root as Element
}

export async function click(within: Element, label: string): Promise<void> {
  const found = within.all('button').find((one) => one.textContent === label && isShown(one))
  if (found === undefined) throw new Error(`there is no button ${label}`)
  found.dispatch('click')
  await wait(0)
}

export async function type(within: Element, text: string): Promise<void> {
  const input = within.querySelector('input') as Element
  input.value = text
  input.dispatch('input')
  await wait(1_000)
}
