// Driver: writes docs/api.md from the types that users meet and the comments on them (built first).

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const PLACE = 'docs/api.md'

const HEAD = `# API

Made by \`node scripts/api-doc.mjs\` from the types and the comments on them; edit those. What the calls promise is in
[guarantees.md](guarantees.md), what can go wrong in [errors.md](errors.md).
`

/** What stands under which title, in which order. */
export const SECTIONS = [
  [
    'Open',
    [
      'packages/latchkey/dist/open/open.d.ts',
      'packages/latchkey/dist/open/options.d.ts',
      'packages/latchkey/dist/member/rights.d.ts',
    ],
  ],
  ['Restore', ['packages/latchkey/dist/open/restore.d.ts']],
  ['Connect', ['packages/client/dist/connect.d.ts', 'packages/client/dist/connect-options.d.ts']],
  ['The store', ['packages/client/dist/store/store.d.ts']],
  ['Keys and values, locks, status', ['packages/protocol/dist/store.d.ts']],
  ['Durations', ['packages/protocol/dist/duration.d.ts']],
  ['Errors', ['packages/protocol/dist/errors.d.ts']],
  [
    "The lock, in RheaKV's shape",
    ['packages/lock/dist/objects/distributed-lock.d.ts', 'packages/lock/dist/objects/watchdog.d.ts'],
  ],
  [
    'The lock, as a Node developer reaches for it',
    ['packages/lock/dist/objects/locks.d.ts', 'packages/lock/dist/objects/hold.d.ts'],
  ],
  ['Fencing resources outside', ['packages/lock/dist/objects/fence-guard.d.ts']],
  ['A level', ['packages/level/dist/level.d.ts']],
]

/** Exported for other files of the house, not for users. */
const INSIDE =
  /^(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?export (?:declare )?(?:interface|function|const) (?:Settings|openMember|checkOptions|checkUrl|parseListen|isLoopback|rightsOf|memberToken|RIGHTS|ConnectSettings|checkConnect|isLatchkeyError)\b(?:[^\n]*\{\n[\s\S]*?\n\};?|[^\n]*)\n/gm

/** Of a declaration file what a reader wants: no imports, no private parts, no settings of the compiler. */
export function readable(source) {
  const kept = source
    .split('\n')
    .filter((line) => !/^import |^export \{|^\/\/# |^\s*(#private;|private )/.test(line))
    .join('\n')
  return `${kept}\n`
    .replace(INSIDE, '')
    .replace(/^export type \{.*\n/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

/** Undefined before the first build. */
export function render(root) {
  const parts = [HEAD]
  for (const [title, files] of SECTIONS) {
    const sources = []
    for (const file of files) {
      const path = `${root}/${file}`
      if (!existsSync(path)) return undefined
      const text = readable(readFileSync(path, 'utf8'))
      if (text !== '') sources.push(text)
    }
    if (sources.length > 0) parts.push(`## ${title}\n\n\`\`\`ts\n${sources.join('\n\n')}\n\`\`\`\n`)
  }
  return parts.join('\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const page = render(root)
  if (page === undefined) throw new Error("not everything is built yet: run 'npx tsc -b' first")
  writeFileSync(new URL(`../${PLACE}`, import.meta.url), page)
  console.log(`wrote ${PLACE}, ${page.split('\n').length} lines`)
}
