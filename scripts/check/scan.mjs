// Rule: a small reader of TypeScript text. There is no compiler API to ask, so it knows the four things that the
// checks need: what is comment, what is string, what is regular expression, and what is left.

const BEFORE_REGEX =
  /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|delete|void|throw|new|do|else|yield|await))$/

/**
 * `code` is the text with the inside of comments, strings and regular expressions blanked: same length, same lines,
 * so that an offset found in one is an offset in the other.
 * @returns {{ code: string, comments: { start: number, text: string }[], strings: { start: number, text: string }[] }}
 */
export function mask(text) {
  const state = { text, at: 0, out: [], comments: [], strings: [] }
  readCode(state, false)
  return { code: state.out.join(''), comments: state.comments, strings: state.strings }
}

/** Reads code up to the end, or (`nested`) up to the brace that ends a template's hole. */
function readCode(state, nested) {
  let depth = 0
  while (state.at < state.text.length) {
    const two = state.text.slice(state.at, state.at + 2)
    const one = two[0]
    if (two === '//') readComment(state, '\n', false)
    else if (two === '/*') readComment(state, '*/', true)
    else if (one === "'" || one === '"') readString(state, one)
    else if (one === '`') readTemplate(state)
    else if (one === '/' && startsRegex(state)) readRegex(state)
    else {
      if (one === '{') depth++
      if (one === '}' && nested && depth-- === 0) return
      keep(state, 1)
    }
  }
}

const keep = (state, count) => {
  state.out.push(state.text.slice(state.at, state.at + count))
  state.at += count
}

const blank = (state, count) => {
  state.out.push(state.text.slice(state.at, state.at + count).replace(/[^\n]/g, ' '))
  state.at += count
}

function readComment(state, end, including) {
  const found = state.text.indexOf(end, state.at + 2)
  const stop = found < 0 ? state.text.length : found + (including ? end.length : 0)
  state.comments.push({ start: state.at, text: state.text.slice(state.at, stop) })
  blank(state, stop - state.at)
}

/** The offset of the unescaped `quote` at or after `from`; the end of the line or text where there is none. */
function endOfString(text, from, quote) {
  for (let i = from; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === quote || text[i] === '\n') return i
  }
  return text.length
}

function readString(state, quote) {
  const end = endOfString(state.text, state.at + 1, quote)
  state.strings.push({ start: state.at, text: state.text.slice(state.at + 1, end) })
  keep(state, 1)
  blank(state, end - state.at)
  if (state.text[state.at] === quote) keep(state, 1)
}

function readTemplate(state) {
  const start = state.at
  keep(state, 1)
  let from = state.at
  while (state.at < state.text.length && state.text[state.at] !== '`') {
    if (state.text[state.at] === '\\') blank(state, 2)
    else if (state.text.startsWith('${', state.at)) {
      state.strings.push({ start, text: state.text.slice(from, state.at) })
      keep(state, 2)
      readCode(state, true)
      keep(state, 1)
      from = state.at
    } else blank(state, 1)
  }
  state.strings.push({ start, text: state.text.slice(from, state.at) })
  keep(state, 1)
}

/** A slash begins a regular expression where a value may begin: behind an operator, an opening bracket, a keyword. */
function startsRegex(state) {
  const before = state.out.slice(-80).join('').trimEnd()
  return before === '' ? state.out.join('').trim() === '' : BEFORE_REGEX.test(before)
}

function readRegex(state) {
  let inClass = false
  let i = state.at + 1
  for (; i < state.text.length && state.text[i] !== '\n'; i++) {
    if (state.text[i] === '\\') i++
    else if (state.text[i] === '[') inClass = true
    else if (state.text[i] === ']') inClass = false
    else if (state.text[i] === '/' && !inClass) break
  }
  keep(state, 1)
  blank(state, i - state.at)
  keep(state, 1)
}

/** The line, from 1, of an offset. */
export const lineOf = (text, offset) => text.slice(0, offset).split('\n').length

const STATEMENT = /(?<![.\w$])(import|export)\b([^'"`;()]*?)\bfrom\s*(['"])/g
const BARE = /(?<![.\w$])import\s*(['"])/g
const DYNAMIC = /(?<![.\w$])(?:import|require)\s*\(\s*(['"])/g

/**
 * Every module that a file names, in order.
 * @returns {{ specifier: string, line: number, typeOnly: boolean }[]}
 */
export function importsOf(text) {
  const { code } = mask(text)
  const found = []
  const add = (match, typeOnly) => {
    const open = match.index + match[0].length - 1
    const specifier = text.slice(open + 1, endOfString(text, open + 1, text[open]))
    found.push({ specifier, line: lineOf(text, open), typeOnly })
  }
  for (const match of code.matchAll(STATEMENT)) add(match, isTypeOnly(match[2]))
  for (const match of code.matchAll(BARE)) add(match, false)
  for (const match of code.matchAll(DYNAMIC)) add(match, false)
  return found.toSorted((a, b) => a.line - b.line)
}

/** `import type {…}`, or braces in which every name says `type`. */
function isTypeOnly(clause) {
  if (/^\s*type\b(?!\s*(?:,|$))/.test(clause)) return true
  const names = /^\s*\{([^}]*)\}\s*$/.exec(clause)?.[1]?.split(',') ?? []
  const given = names.map((name) => name.trim()).filter((name) => name !== '')
  return given.length > 0 && given.every((name) => name.startsWith('type '))
}
