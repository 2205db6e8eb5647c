// Rule: the small faults that a line of code can be given, one fault each: what a tired person might have
// typed. The caller draws some of them.

/** Each fault: its name, where it fits, and what stands there instead. It changes no text and no comment. */
const FAULTS = [
  { name: 'an equality is turned round', from: /===/g, to: '!==' },
  { name: 'an inequality is turned round', from: /!==/g, to: '===' },
  { name: 'a bound is one off', from: / <= /g, to: ' < ' },
  { name: 'a bound is one off', from: / >= /g, to: ' > ' },
  { name: 'a bound is one off', from: / < /g, to: ' <= ' },
  { name: 'a bound is one off', from: / > /g, to: ' >= ' },
  { name: '"and" becomes "or"', from: / && /g, to: ' || ' },
  { name: '"or" becomes "and"', from: / \|\| /g, to: ' && ' },
  { name: 'plus becomes minus', from: / \+ /g, to: ' - ' },
  { name: 'minus becomes plus', from: / - /g, to: ' + ' },
  { name: 'the larger becomes the smaller', from: /Math\.max\(/g, to: 'Math.min(' },
  { name: 'the smaller becomes the larger', from: /Math\.min\(/g, to: 'Math.max(' },
  { name: 'true becomes false', from: /\btrue\b/g, to: 'false' },
  { name: 'false becomes true', from: /\bfalse\b/g, to: 'true' },
  {
    name: 'a number is one more',
    from: /(?<=[\s([])\d+(?=[\s)\],]|$)/g,
    to: (number) => String(Number(number) + 1),
  },
  { name: 'a condition is turned round', from: /\bif \((?=.*\) )/g, to: 'if (!', close: true },
  { name: 'a call is left out', from: /^\s+(?:void |await )?(?:this\.)?[#\w.]+\(.*\)$/g, to: '' },
]

const COMMENT = /^\s*(\/\/|\/\*|\*)/
/** Declarations of types and modules hold nothing that runs. */
const NO_CODE = /^\s*(import |export (type|interface|\*|\{)|type |interface |readonly \w+\??:|\| |\}|@)/
/** No promise says what a log tells, so no test has to read its lines. */
const LOG = /[lL]ogger\??\.(debug|info|warn|error)\(/

/** All faults that fit in one line, each with the whole new line. */
export function faultsOf(line) {
  if (COMMENT.test(line) || NO_CODE.test(line) || LOG.test(line)) return []
  const quoted = quotedPlaces(line)
  return FAULTS.flatMap(({ name, from, to, close }) =>
    [...line.matchAll(from)]
      .filter(({ index }) => !quoted(index))
      .map(({ 0: found, index }) => ({ name, line: changed(line, index, found, to, close) }))
      .filter((fault) => fault.line !== undefined),
  )
}

function changed(line, index, found, to, close) {
  const put = typeof to === 'function' ? to(found) : to
  const rest = line.slice(index + found.length)
  if (!close) return line.slice(0, index) + put + rest
  // The condition is taken into brackets as a whole: up to where its own bracket closes.
  const end = closing(rest)
  return end === undefined
    ? undefined
    : `${line.slice(0, index)}${put}(${rest.slice(0, end)}))${rest.slice(end + 1)}`
}

/** Where the bracket closes that is open at the beginning of the text. */
function closing(text) {
  let depth = 1
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '(') depth++
    if (text[i] === ')' && --depth === 0) return i
  }
  return undefined
}

/** Is that place of the line inside a text, or behind a comment's begin? */
function quotedPlaces(line) {
  const inside = []
  let quote
  for (let i = 0; i < line.length; i++) {
    const sign = line[i]
    if (quote === undefined && sign === '/' && line[i + 1] === '/') return (at) => at >= i || inside[at]
    inside[i] = quote !== undefined
    if (quote === undefined && (sign === "'" || sign === '"' || sign === '`')) quote = sign
    else if (sign === quote && line[i - 1] !== '\\') quote = undefined
  }
  return (at) => inside[at]
}

/** The same draw for the same seed, on every machine. */
export function drawn(list, count, seed) {
  const left = [...list]
  const picked = []
  let state = seed >>> 0
  while (picked.length < count && left.length > 0) {
    // Numerical Recipes' generator: nothing hangs on its quality.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    picked.push(left.splice(Math.floor((state / 2 ** 32) * left.length), 1)[0])
  }
  return picked
}
