// Rule: shows rows of data in an HTML table. Each row has a key, by which an update finds the row again.
//
// Law: an update keeps the elements of each row that still exists, and writes only texts that have changed.
// Without this law: a person who uses the keyboard loses the focus each second, and a screen reader reads the
// whole table again.

import { type Child, el, setText } from './html-elements.js'

interface Column<Row> {
  readonly head: string
  /** The CSS class of the column, which sets the column's width and alignment. */
  readonly kind?: string
  text(row: Row): string
  link?(row: Row): string
  /**
   * Returns 'good', 'warn', 'bad' or 'leader' for a coloured sign beside the text. With '' or undefined there
   * is no sign.
   */
  mark?(row: Row): string | undefined
  /** If this function is present, the text is a button. */
  press?(row: Row): void
}

interface Shown<Row> {
  readonly element: HTMLTableRowElement
  readonly cells: readonly HTMLElement[]
  row: Row
}

export class Table<Row> {
  readonly root: HTMLElement
  readonly #columns: readonly Column<Row>[]
  readonly #keyOf: (row: Row) => string
  readonly #body = el('tbody')
  readonly #empty: HTMLElement
  #rows = new Map<string, Shown<Row>>()

  constructor(caption: string, columns: readonly Column<Row>[], keyOf: (row: Row) => string, empty: string) {
    this.#columns = columns
    this.#keyOf = keyOf
    this.#empty = el('p', { class: 'empty' }, empty)
    const heads = columns.map(({ head, kind = '' }) => el('th', { scope: 'col', class: kind }, head))
    const table = el(
      'table',
      {},
      el('caption', { class: 'unseen' }, caption),
      el('thead', {}, el('tr', {}, ...heads)),
      this.#body,
    )
    this.root = el('div', { class: 'table' }, table, this.#empty)
  }

  sayEmpty(text: string): void {
    setText(this.#empty, text)
  }

  show(rows: readonly Row[]): void {
    const next = new Map<string, Shown<Row>>()
    for (const row of rows) {
      const key = this.#keyOf(row)
      const shown = this.#rows.get(key) ?? this.#built(row)
      shown.row = row
      this.#write(shown)
      next.set(key, shown)
    }
    for (const [key, { element }] of this.#rows) if (!next.has(key)) element.remove()
    this.#rows = next
    let at = this.#body.firstElementChild
    for (const { element } of next.values()) {
      if (element === at) at = at.nextElementSibling
      else this.#body.insertBefore(element, at)
    }
    this.#empty.hidden = next.size > 0
  }

  /** Writes all texts again, because the durations in the texts grow. */
  tick(): void {
    for (const shown of this.#rows.values()) this.#write(shown)
  }

  #built(row: Row): Shown<Row> {
    const cells = this.#columns.map((column) => {
      if (column.link !== undefined) return el('a')
      return column.press === undefined ? el('span') : el('button', { type: 'button', class: 'small' })
    })
    const around = cells.map((cell, at): Child => {
      const { kind = '', head } = this.#columns[at] as Column<Row>
      return el(at === 0 ? 'th' : 'td', { class: kind, 'data-head': head, scope: at === 0 && 'row' }, cell)
    })
    const shown = { element: el('tr', {}, ...around), cells, row }
    for (const [at, column] of this.#columns.entries())
      if (column.press !== undefined) cells[at]?.addEventListener('click', () => column.press?.(shown.row))
    return shown
  }

  #write({ cells, row }: Shown<Row>): void {
    for (const [at, column] of this.#columns.entries()) {
      const cell = cells[at] as HTMLElement
      setText(cell, column.text(row))
      const link = column.link?.(row)
      if (link !== undefined && cell.getAttribute('href') !== link) cell.setAttribute('href', link)
      const mark = column.mark?.(row) ?? ''
      if (cell.dataset['mark'] !== mark) cell.dataset['mark'] = mark
    }
  }
}
