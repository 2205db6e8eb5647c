// Rule: a declaration file of the compiler, cut into what it exports, and each part as a reader wants it.

const START = /^export (?:declare )?(?:abstract )?(?:class|interface|type|function|const) (\w+)/

/** name -> its declaration with the comment above it; overloads of one name together. */
export function declarationsOf(source) {
  const found = new Map()
  for (const part of groups(source.split('\n'), 0)) {
    const name = START.exec(part.code[0])?.[1]
    if (name !== undefined) found.set(name, [...(found.get(name) ?? []), ...part.comment, ...part.code])
  }
  return new Map([...found].map(([name, lines]) => [name, lines.join('\n')]))
}

/** Without what is the house's own: private members, and those whose comment begins with 'Internal' or whose name with '_'. */
export function readable(text) {
  const lines = text.split('\n')
  const head = lines.findIndex((line) => START.test(line))
  const isBody = /\bclass\b/.test(lines[head])
  const members = isBody ? groups(lines.slice(head + 1, -1), 4).filter(isForUsers) : []
  const kept = isBody
    ? [
        ...lines.slice(0, head + 1),
        ...members.flatMap(({ comment, code }) => [...comment, ...code]),
        ...lines.slice(-1),
      ]
    : lines
  return `${kept.map(plain).join('\n')}\n`
}

const isForUsers = ({ comment, code }) =>
  !/^\s*(#|_|private )/.test(code[0]) &&
  !/^\s*\/?\*+ Internal\b/.test(comment.find((line) => /\w/.test(line)) ?? '')

/** As it would be written: no `export declare`, no semicolon, two spaces, and no undefined behind a question mark. */
const plain = (line) =>
  /^\s*\/?\*/.test(line)
    ? line.replace(/^( +)(?=\/?\*)/, (indent) => ' '.repeat(half(indent.length)))
    : line
        .replace(/^export (declare )?/, '')
        .replace(/^( +)/, (indent) => ' '.repeat(half(indent.length)))
        .replace(/;$/, '')
        .replace(/(\?: .*|^ *\}) \| undefined$/, '$1')

/** Lines of a comment stand one to the right of their margin. */
const half = (length) => Math.floor(length / 4) * 2 + (length % 4)

/** Comment and code of each statement at that indent; a statement ends where its brackets are closed. */
function groups(lines, indent) {
  const found = []
  let comment = []
  let code = []
  let depth = 0
  for (const line of lines) {
    if (code.length === 0 && /^\s*(\/\*\*|\*)/.test(line)) {
      if (line.startsWith(`${' '.repeat(indent)}/**`)) comment = []
      comment.push(line)
      continue
    }
    if (line.trim() === '') continue
    code.push(line)
    const bare = line.replace(/'[^']*'/g, "''").replace(/\/\*\*.*\*\/|^\s*\/?\*.*$/g, '')
    depth += [...bare].reduce((sum, c) => sum + ('{(['.includes(c) ? 1 : '})]'.includes(c) ? -1 : 0), 0)
    if (depth > 0 || !/[;}]$/.test(line)) continue
    found.push({ comment, code })
    comment = []
    code = []
  }
  return found
}
