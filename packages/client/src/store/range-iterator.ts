// Driver: reads a range page by page from one view at the member that opened the view. When a page arrives,
// the next page is requested, so that the member reads while the caller takes the rows. At most one page is
// requested ahead, to limit the use of memory.
//
// Law (R9): all rows come from one view. If the view is lost before its first page has arrived, the iteration
// begins again. If the view is lost later, the iteration ends with an error, because the caller may have read
// rows or the view's revision. Without this law: a caller reads the revision of one view and gets the rows of
// a later view. The caller then watches from that revision on, and gets some changes twice.
//
// Law (C48): a request is sent even for a range that can contain nothing, because the member decides whether
// this caller may read the range. Without this law: a scan with limit 0 works, and the same program is
// refused at its first scan with rows.

import {
  type AtRevision,
  CAPS,
  type Decoding,
  LatchkeyError,
  READ,
  type PagePart,
  type RangeArgs,
  type Read,
  type ReadArgs,
  isLatchkeyError,
  type RangeIterator,
  toPage,
} from '@latchkey/protocol'
import type { Call, LinkState } from '../engine/call.js'
import type { Engine } from '../engine/engine.js'
import { viewLost } from '../engine/outcome-of-answer.js'
import { withRevision } from './undecodable-value-errors.js'

/**
 * The value is null if the request was for keys without values. The revision is present if it was requested.
 */
export type Row = readonly [key: Uint8Array, value: Uint8Array | null, revision?: number]

export interface OpenView {
  /** 0 means that the member has closed the view, because this page was the last page. */
  readonly view: number
  readonly viewLink: LinkState | undefined
  /** The link of the view stays open until this function is called. */
  release(): void
}
interface Page extends OpenView {
  readonly revision: number
  readonly rows: readonly Row[]
}

interface Cursor {
  start: Uint8Array | null
  end: Uint8Array | null
  left: number
}

export function iterate<T>(
  engine: Engine,
  range: RangeArgs,
  options: ReadArgs,
  convert: (row: Row, how: Decoding) => T,
): RangeIterator<T> {
  return new Rows((opened) => rowsOf(engine, range, options, convert, opened))
}

class Rows<T> implements RangeIterator<T> {
  readonly #rows: AsyncGenerator<T, undefined>
  readonly #revision: Promise<number>
  #refuse: (error: unknown) => void = () => {}
  /**
   * The promise of the first row. Set if the caller has read `revision` before the first `next()`, because
   * only the request for the first row shows the revision.
   */
  #first: Promise<IteratorResult<T, undefined>> | undefined
  #isBegun = false

  constructor(rows: (opened: (revision: number) => void) => AsyncGenerator<T, undefined>) {
    let opened: (revision: number) => void = () => {}
    this.#revision = new Promise((resolve, reject) => {
      opened = resolve
      this.#refuse = reject
    })
    // If no caller asks for the revision, a rejection of this promise must not count as unhandled.
    this.#revision.catch(() => {})
    this.#rows = rows(opened)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  get revision(): Promise<number> {
    if (!this.#isBegun) {
      this.#first = this.#ask()
      this.#first.catch(() => {})
    }
    return this.#revision
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const first = this.#first
    this.#first = undefined
    return first ?? this.#ask()
  }

  #ask(): Promise<IteratorResult<T, undefined>> {
    this.#isBegun = true
    const asked = this.#rows.next()
    asked.catch(this.#refuse)
    return asked
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#end()
    return this.#rows.return(undefined)
  }

  throw(error?: unknown): Promise<IteratorResult<T, undefined>> {
    this.#end()
    return this.#rows.throw(error)
  }

  #end(): void {
    this.#isBegun = true
    this.#refuse(new LatchkeyError('ERR_ABORTED', 'The iteration ended before its view was opened.'))
  }
}

async function* rowsOf<T>(
  engine: Engine,
  range: RangeArgs,
  options: ReadArgs,
  convert: (row: Row, how: Decoding) => T,
  opened: (revision: number) => void,
): AsyncGenerator<T, undefined> {
  let hasReturnedRows = false
  const converted = (row: Row, revision: number): T | Promise<never> => {
    try {
      return convert(row, options)
    } catch (error) {
      return withRevision(engine, error, options, revision)
    }
  }
  for (;;) {
    const pages = pagesOf(engine, range, options)
    try {
      for await (const { rows, revision } of pages) {
        hasReturnedRows = true
        opened(revision)
        for (const row of rows) {
          if (options.signal?.aborted)
            throw new LatchkeyError('ERR_ABORTED', undefined, { cause: options.signal.reason })
          yield converted(row, revision)
        }
      }
      return
    } catch (error) {
      if (hasReturnedRows || !isLost(error)) throw error
    }
  }
}

/**
 * Returns all rows of a range together. If the view is lost before the deadline, the function begins again.
 */
export async function collect<T>(
  engine: Engine,
  range: RangeArgs,
  options: ReadArgs,
  convert: (row: Row, how: Decoding) => T,
): Promise<AtRevision<T>> {
  const deadline = engine.deadlineOf(options)
  for (;;) {
    try {
      const found: T[] = []
      let seen = 0
      for await (const { rows, revision } of pagesOf(engine, range, options, deadline)) {
        seen = revision
        for (const row of rows)
          try {
            found.push(convert(row, options))
          } catch (error) {
            await withRevision(engine, error, options, revision)
          }
      }
      return Object.defineProperty(found, 'revision', { value: seen }) as AtRevision<T>
    } catch (error) {
      if (!isLost(error)) throw error
    }
  }
}

export const isLost = (error: unknown): boolean => isLatchkeyError(error, 'ERR_COMPACTED')

type PageOptions = Pick<ReadArgs, 'stale' | 'signal' | 'timeout'>

interface PagesArgs extends RangeArgs {
  readonly part?: PagePart
}

export async function* pagesOf(
  engine: Engine,
  range: PagesArgs,
  options: PageOptions,
  deadline?: () => number | undefined,
): AsyncGenerator<Page, undefined> {
  const cursor: Cursor = { start: range.start, end: range.end, left: range.limit }
  const next = (before: Page | undefined): Promise<Page> =>
    ask(engine, range, cursor, { ...options, timeout: deadline ? deadline() : options.timeout }, before)
  let page: Page | undefined
  let asked: Promise<Page> | undefined = next(undefined)
  try {
    while (asked !== undefined) {
      const before: Page | undefined = page
      page = await asked
      asked = undefined
      advance(cursor, range.reverse, page.rows)
      if (page.view !== 0 && cursor.left > 0) asked = next(page)
      // The caller may never call `next()` again, so a rejection of this page must not count as unhandled.
      asked?.catch(() => {})
      before?.release()
      yield page
    }
  } finally {
    leave(engine, page, asked)
  }
}

/**
 * Closes the view. If a page was requested and has not arrived, closes the view after the page has arrived.
 */
function leave(engine: Engine, page: Page | undefined, asked: Promise<Page> | undefined): void {
  const close = (last: Page | undefined) => {
    if (last && last.view !== 0) closeView(engine, last)
    last?.release()
    if (last !== page) page?.release()
  }
  if (asked === undefined) return close(page)
  asked.then(close, () => close(page))
}

async function ask(
  engine: Engine,
  range: PagesArgs,
  cursor: Cursor,
  options: PageOptions,
  before: Page | undefined,
): Promise<Page> {
  const limit = Math.min(cursor.left, CAPS.pageRows)
  // The member ends a page early if the page would have too many bytes. So a request for more than one row
  // (`limit > 1` below) asks the member to keep the view open for another page.
  const part = range.part ?? (range.keysOnly ? 'keys' : 'both')
  const view = before?.view ?? 0
  const read: Read = [READ.page, view, limit > 1, cursor.start, cursor.end, range.reverse, limit, part]
  try {
    return await engine.read(
      read,
      options.stale,
      options,
      (result, call) => toPageOf(engine, result, call),
      before?.viewLink,
    )
  } catch (error) {
    throw view !== 0 && isLost(error) ? viewLost() : error
  }
}

/**
 * Converts an answer to a page as soon as the answer arrives, and registers the view. Otherwise the store
 * could close the link of the view as unused.
 */
function toPageOf(engine: Engine, result: unknown, call: Call): Page {
  const [view, rows, revision] = toPage(result)
  return { ...openView(engine, view, call), rows: rows as readonly Row[], revision }
}

export function openView(engine: Engine, view: number, call: Call): OpenView {
  const viewLink = call.answeredBy
  return { view, viewLink, release: viewLink && view !== 0 ? engine.keepOpen(viewLink) : () => {} }
}

function advance(cursor: Cursor, reverse: boolean, rows: readonly Row[]): void {
  const last = rows.at(-1)
  cursor.left -= rows.length
  if (!last) return
  if (reverse) cursor.end = last[0]
  else {
    const next = new Uint8Array(last[0].length + 1)
    next.set(last[0])
    cursor.start = next
  }
}

/**
 * Asks the member to close the view, and does not wait for the answer. If the request is lost, the view
 * expires at the member.
 */
export function closeView(engine: Engine, { view, viewLink }: OpenView): void {
  if (!viewLink?.open) return
  const done = () => {}
  engine
    .read([READ.closeView, view], true, { timeout: undefined, signal: undefined }, done, viewLink)
    .catch(done)
}
