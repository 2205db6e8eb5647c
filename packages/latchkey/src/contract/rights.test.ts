// Test: every call of a store and every HTTP route is sent with each kind of token to three members.
// docs/rights.md shows the results.

import { readFileSync, writeFileSync } from 'node:fs'
import { uptime } from 'node:os'
import { silentLogger, systemClock } from '@latchkey/base'
import { connect, type Store } from '@latchkey/client'
import { isLatchkeyError } from '@latchkey/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openMember } from '../open/index.js'
import { resolveSettings, sidecarOptions } from '../sidecar/index.js'
import { Sidecar } from '../sidecar/exports-to-run-member.js'
import { freePorts, tempFolders } from './testing/free-ports-and-temporary-folders.js'
import { callsOf, httpRows, NO_CALLS, STORE_ROWS } from './testing/requests-for-rights-tests.js'

const DOCUMENT = new URL('../../../../docs/rights.md', import.meta.url)
const [BEGIN, END] = ['<!-- measured: begin -->\n', '<!-- measured: end -->']
const HOW = 'WRITE_RIGHTS=1 npx vitest run --project latchkey packages/latchkey/src/contract/rights.test.ts'

const LIMITED = { rights: ['read', 'write'], keys: ['in/'], locks: ['in/'] }
const TOKENS = [
  { token: 't-read', rights: ['read'] },
  { token: 't-write', rights: ['write'] },
  { token: 't-both', rights: ['read', 'write'] },
  { token: 't-admin', rights: ['admin'] },
  { token: 't-limited', ...LIMITED },
]
/** The name of the column, the token, and the prefix of its keys and locks. */
const CALLERS = [
  ['no token', undefined, 'in/'],
  ['wrong token', 't-wrong', 'in/'],
  ['`read`', 't-read', 'in/'],
  ['`write`', 't-write', 'in/'],
  ['`read` `write`', 't-both', 'in/'],
  ['`admin`', 't-admin', 'in/'],
  ['limited, inside', 't-limited', 'in/'],
  ['limited, outside', 't-limited', 'out/'],
] as const

type Verdict = 'yes' | '401' | '403'

const folder = tempFolders()
const sidecars: Sidecar[] = []
const stores = new Map<string, Store>()
let at: string[] = []

beforeAll(async () => {
  at = (await freePorts(3)).map((port) => `127.0.0.1:${port}`)
  const tokens = `${folder()}.json`
  writeFileSync(tokens, JSON.stringify({ tokens: TOKENS, memberToken: 'm' }), { mode: 0o600 })
  const member = ['a', 'b', 'c'].map((id, index) => `${id}=ws://${at[index]}`)
  const clock = systemClock(uptime)
  const opening = ['a', 'b', 'c'].map((id) => {
    const flags = { id, memory: true, member, tokens, 'election-timeout': '600', heartbeat: '50' }
    const options = sidecarOptions(resolveSettings({ flags, env: {} }), (path) => path)
    return Sidecar.open(options, { clock, logger: silentLogger, openMember })
  })
  sidecars.push(...(await Promise.all(opening)))
  for (const { token } of TOKENS)
    stores.set(
      token,
      await connect(
        at.map((one) => `ws://${one}`),
        { token, timeout: '30s' },
      ),
    )
  const both = stores.get('t-both') as Store
  await both.put('in/k', 'v', { timeout: '30s' })
})
afterAll(async () => {
  await Promise.all([...stores.values()].map((store) => store.close()))
  await Promise.all(sidecars.map((sidecar) => sidecar.abandon()))
})

/** The request was allowed, whatever its result. */
function verdictOf(error: unknown): Verdict {
  if (isLatchkeyError(error, 'ERR_UNAUTHORIZED')) return '401'
  return isLatchkeyError(error, 'ERR_FORBIDDEN') ? '403' : 'yes'
}

async function ofStore(name: string, token: string | undefined, prefix: string): Promise<Verdict> {
  const known = stores.get(token ?? '')
  try {
    const store = known ?? (await connect([`ws://${at[0]}`], token === undefined ? {} : { token }))
    await STORE_ROWS[name]?.(store, prefix)
    return 'yes'
  } catch (error) {
    return verdictOf(error)
  }
}

async function ofHttp(
  name: string,
  token: string | undefined,
  prefix: string,
  member: number,
): Promise<Verdict> {
  const { method, path, body, isStream } = httpRows()[name] as ReturnType<typeof httpRows>[string]
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const response = await fetch(`http://${at[member]}${path(prefix)}`, {
    method,
    headers,
    ...(body && { body: body(prefix) }),
  })
  if (isStream) await response.body?.cancel()
  else await response.arrayBuffer()
  return response.status === 401 || response.status === 403 ? `${response.status}` : 'yes'
}

async function measured(names: readonly string[], ask: typeof ofStore): Promise<string[]> {
  const lines: string[] = []
  for (const name of names) {
    const verdicts = await Promise.all(CALLERS.map(([, token, prefix]) => ask(name, token, prefix)))
    lines.push(`| \`${name}\` | ${verdicts.join(' | ')} |`)
  }
  return lines
}

const head = (what: string) =>
  `| ${what} | ${CALLERS.map(([column]) => column).join(' | ')} |\n|${'---|'.repeat(CALLERS.length + 1)}\n`

test('every call of a store has a row', () => {
  const calls = callsOf(stores.get('t-both') as Store).filter((name) => !NO_CALLS.includes(name))
  const rows = Object.keys(STORE_ROWS).map((name) => name.split(',')[0])
  expect(new Set(rows)).toEqual(new Set(calls))
})

test('C24, C29, C48: who may do what, as docs/rights.md shows it', { timeout: 120_000 }, async () => {
  const calls = await measured(Object.keys(STORE_ROWS), ofStore)
  const routes = await measured(Object.keys(httpRows()), (...row) => ofHttp(...row, 0))
  // A follower refuses the same requests as its leader.
  for (const member of [1, 2])
    expect(await measured(Object.keys(httpRows()), (...row) => ofHttp(...row, member))).toEqual(routes)
  const text = `${BEGIN}\n${head('call')}${calls.join('\n')}\n\n${head('HTTP')}${routes.join('\n')}\n\n${END}`
  const document = readFileSync(DOCUMENT, 'utf8')
  const [before, rest = ''] = document.split(BEGIN)
  const next = `${before}${text}${rest.split(END)[1] ?? ''}`
  if (process.env.WRITE_RIGHTS !== undefined) writeFileSync(DOCUMENT, next)
  else expect(document, `docs/rights.md is not what was measured. If it should be: ${HOW}`).toBe(next)
})

test('the table is as intended: nothing is allowed without a token, and no request of a limited token leaves its limits', () => {
  const rows = readFileSync(DOCUMENT, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
  const cells = rows.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
  expect(rows.length).toBeGreaterThan(Object.keys(STORE_ROWS).length)
  // Probes, and the page, which has nothing of the store in it.
  const isProbe = (name: string) => /(livez|readyz|(GET|HEAD) \/|page\/\{file\})`$/.test(name)
  // Their answers contain nothing of any key.
  const isForAll = (name: string) =>
    isProbe(name) ||
    name.endsWith(', of nothing`') ||
    /^`(ready|status|metrics|locks\.releaseAll|(GET|HEAD) \/(status|metrics|version|openapi\.json|v1\/(members|identity))|POST \/v1\/sessions)`$/.test(
      name,
    )
  for (const [name = '', none, wrong, , , , , , outside] of cells.filter((row) => row.length === 9)) {
    expect([name, none, wrong]).toEqual(isProbe(name) ? [name, 'yes', 'yes'] : [name, '401', '401'])
    expect([name, outside]).toEqual([name, isForAll(name) ? 'yes' : '403'])
  }
})

test('C48: a watch of an empty range needs the right to read, and a range inside of the limits', async () => {
  const watched = (token: string, at: string) => {
    const watch = (stores.get(token) as Store).watch({ range: { gte: `${at}b`, lt: `${at}a` } })
    return watch.next()
  }
  await expect(watched('t-write', 'in/')).rejects.toMatchObject({ code: 'ERR_FORBIDDEN' })
  await expect(watched('t-limited', 'out/')).rejects.toMatchObject({ code: 'ERR_FORBIDDEN' })
})
