// Rule: builds the HTML elements of the page.
//
// Law: every value from the store is shown as text and never as markup. The page never uses innerHTML, and
// links lead only inside the page or to http(s). Without this law: a user who may write one key runs a script
// in the browser of each person who looks at the key.

export type Child = Node | string | undefined | false

type Attributes = Readonly<Record<string, string | boolean | undefined>>

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  setAttributes(element, attributes)
  element.append(...children.filter((child) => child !== undefined && child !== false))
  return element
}

const DRAWING = 'http://www.w3.org/2000/svg'

export function drawing(tag: string, attributes: Attributes, ...children: readonly Node[]): SVGElement {
  const element = document.createElementNS(DRAWING, tag) as SVGElement
  setAttributes(element, attributes)
  element.append(...children)
  return element
}

function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue
    if (name === 'href' && !/^(#|https?:)/.test(String(value))) continue
    element.setAttribute(name, value === true ? '' : value)
  }
}

export function button(label: string, run: () => void, kind = ''): HTMLButtonElement {
  const made = el('button', { type: 'button', class: kind }, label)
  made.addEventListener('click', run)
  return made
}

/** Writes a text only if it has changed. Otherwise a screen reader would read the unchanged text again. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

export function field(
  label: string,
  attributes: Attributes,
  changed?: (value: string) => void,
): { root: HTMLLabelElement; input: HTMLInputElement } {
  const input = el('input', {
    autocomplete: 'off',
    spellcheck: 'false',
    autocapitalize: 'off',
    ...attributes,
  })
  if (changed !== undefined) input.addEventListener('input', () => changed(input.value))
  return { root: el('label', { class: 'field' }, el('span', {}, label), input), input }
}

export const fact = (name: string, value: Child): HTMLElement =>
  el('div', { class: 'fact' }, el('dt', {}, name), el('dd', {}, value))
