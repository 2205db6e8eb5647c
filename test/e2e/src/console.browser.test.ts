// Test: the console in a real browser with real members: signing in, each view, changes during a view,
// rights, hostile keys, keyboard and phone, and the death of the leader during a view.
// long: one cluster and one browser serve the tests of all views

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect, type Store } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { latchkey } from '@latchkey/test-chaos/command'
import { until } from '@latchkey/test-chaos/until'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { Browsers, type Look, type Person } from './actors/browser.js'

const TOKENS = {
  tokens: [
    { token: 'all', name: 'operator' },
    { token: 'looks', name: 'watcher', rights: ['read'] },
    { token: 'some', name: 'billing', rights: ['read', 'write'], keys: ['in/'], locks: ['in/'] },
    { token: 'writes', name: 'writer', rights: ['write'] },
  ],
  memberToken: 'proof-of-a-member-of-the-page-test',
}
let folder: string
let cluster: Cluster
let store: Store
let browsers: Browsers
let people: Person[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-page-'))
  const tokens = join(folder, 'tokens.json')
  await writeFile(tokens, JSON.stringify(TOKENS), { mode: 0o600 })
  browsers = await Browsers.start()
  cluster = await Cluster.start({ token: 'all', flags: ['--tokens', tokens] })
})
afterAll(async () => {
  await browsers?.close()
  await cluster?.destroy()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  store = await connect(cluster.urls, { token: 'all', timeout: '20s' })
})
afterEach(async () => {
  const faults = people.flatMap((person) => person.faults)
  for (const { page } of people) await page.context().close()
  people = []
  await store.close()
  expect(faults).toEqual([])
})

async function look(options: Look = {}, id = 'a'): Promise<Person> {
  const person = await browsers.open(cluster.get(id).url, { token: 'all', ...options })
  people.push(person)
  return person
}

/** A row of a table that has this text. */
const row = ({ page }: Person, text: string) => page.getByRole('row').filter({ hasText: text })

test('C81: the page comes without a token and under 100 KB, and no data does; a wrong token is refused', async () => {
  const url = cluster.get('a').url.replace('ws', 'http')
  const answer = await fetch(url)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/)
  expect((await fetch(`${url}/v1/identity`)).status).toBe(401)
  const person = await browsers.open(cluster.get('a').url)
  people.push(person)
  const { page } = person
  await page.getByLabel('Token').fill('wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').filter({ hasText: /token/i }).waitFor()
  await person.signIn('all')
  await page.getByText(/leads in term \d+\. All members answer/).waitFor()
  expect(person.bytes).toBeLessThan(100 * 1024)
  expect(person.bytes).toBeGreaterThan(10 * 1024)
  expect(page.url()).not.toContain('all')
  await page.reload()
  await page.getByText(/leads in term/).waitFor()
  const second = await page.context().newPage()
  await second.goto(url)
  await second.getByLabel('Token').waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Token').waitFor()
})

test('orders/42 is stuck: its holder, who waits in which order, and its history, in three clicks', async () => {
  const before = await store.locks.acquire('orders/42', { context: 'refunds-3' })
  await before.release()
  const held = await store.locks.acquire('orders/42', { lease: '30s', context: 'billing-7 (pid 4711)' })
  const other = await connect(cluster.urls, { token: 'all' })
  const waits = ['first', 'second'].map((context) =>
    other.locks.acquire('orders/42', { wait: '60s', context }),
  )
  await until('both wait', async () => (await store.locks.query('orders/42'))[0]?.waiters === 2)
  const person = await look()
  const { page } = person
  await page.getByRole('link', { name: 'Locks' }).click()
  await page.getByRole('link', { name: 'orders/42' }).click()
  await page.getByText('billing-7 (pid 4711) holds it. 2 callers wait.').waitFor()
  const places = await page.getByRole('table', { name: 'Callers that wait' }).getByRole('row').allInnerTexts()
  expect(
    places
      .slice(1)
      .map((text) => /first|second/.exec(text)?.[0])
      .toSorted(),
  ).toEqual(['first', 'second'])
  const history = page.getByRole('table', { name: 'Changes' })
  await history.getByRole('row').filter({ hasText: 'acquired' }).filter({ hasText: 'billing-7' }).waitFor()
  expect(await history.getByRole('row').filter({ hasText: 'began to wait' }).count()).toBe(2)
  // Also what was over before anybody looked, and each change once.
  for (const what of ['acquired', 'released'])
    expect(
      await history.getByRole('row').filter({ hasText: what }).filter({ hasText: 'refunds-3' }).count(),
    ).toBe(1)
  expect(await history.getByRole('row').count()).toBe(1 + 5)

  // While one looks: it is given back, and passes on.
  await held.release()
  const next = await Promise.race(waits)
  await page.getByText(/(first|second) holds it\. 1 caller waits\./).waitFor()
  await history.getByRole('row').filter({ hasText: 'released' }).filter({ hasText: 'billing-7' }).waitFor()
  await next.release()
  await (await Promise.all(waits)).at(next === (await waits[0]) ? 1 : 0)?.release()
  await page.getByText('Nobody holds it.').waitFor()
  await other.close()

  // And the one command.
  const again = await store.locks.acquire('orders/42', { context: 'billing-8' })
  const third = store.locks.acquire('orders/42', { context: 'third', wait: '60s' })
  await until('one waits', async () => (await store.locks.query('orders/42'))[0]?.waiters === 1)
  const asked = ['locks', 'orders/42', '--queue', '--history']
  const { out } = await latchkey(asked, cluster.urls, { LATCHKEY_TOKEN: 'all' }).ended
  expect(out).toMatch(/^lock +orders\/42 .*billing-8/m)
  expect(out).toMatch(/1\. waits .*third/)
  expect(out).toMatch(/ago +released .*billing-7 \(pid 4711\)/)
  await again.release()
  await (await third).release()
})

test('a lock is taken and given back while one looks at the list', async () => {
  const person = await look({}, 'b')
  await person.go('locks')
  await person.page.getByRole('heading', { name: 'Locks' }).waitFor()
  const held = await store.locks.acquire('looked/at', { context: 'somebody' })
  await row(person, 'looked/at').filter({ hasText: 'somebody' }).waitFor()
  // A lock is marked while somebody waits for it.
  const marked = row(person, 'looked/at').locator('[data-mark="warn"]')
  expect(await marked.count()).toBe(0)
  const waiting = store.locks.acquire('looked/at', { wait: '60s' })
  await marked.filter({ hasText: '1' }).waitFor()
  await held.release()
  await (await waiting).release()
  await row(person, 'looked/at').waitFor({ state: 'detached' })
})

test('keys and values: text, JSON, MessagePack and hex, their life, and changes as they come', async () => {
  await store.put('v/json', '{"customer":"Ana"}')
  await store.put('v/pack', Uint8Array.of(0x82, 0xa1, 0x61, 1, 0xa1, 0x62, 0xc3), { as: 'bytes' })
  await store.put('v/bytes', Uint8Array.of(0xc1, 0, 255), { as: 'bytes' })
  await store.put('v/short', 'lives', { ttl: '10m' })
  const person = await look()
  const { page } = person
  await person.go('keys')
  await page.getByLabel('Keys that begin with').fill('v/')
  await row(person, 'v/pack').filter({ hasText: '{ "a": 1, "b": true }' }).waitFor()
  await row(person, 'v/bytes').filter({ hasText: '0xc100ff' }).waitFor()
  await page.getByRole('link', { name: 'v/json' }).click()
  await page.getByLabel('Value', { exact: true }).filter({ hasText: '"customer": "Ana"' }).waitFor()
  await page.getByRole('button', { name: 'hex' }).click()
  await page.getByText('7b 22 63 75').waitFor()
  expect(await page.getByRole('button', { name: 'MessagePack' }).isDisabled()).toBe(true)
  const { revision } = await store.put('v/json', 'plain')
  await page.getByRole('button', { name: 'text' }).click()
  await page.getByLabel('Value', { exact: true }).filter({ hasText: 'plain' }).waitFor()
  const fact = (name: string) =>
    page.getByText(name, { exact: true }).locator('xpath=following-sibling::*[1]')
  expect(await fact('Changed at revision').innerText()).toBe(String(revision))
  expect(await fact('Version').innerText()).toBe('2')
  await store.delete('v/json')
  await page.getByText('There is no value under this key now.').waitFor()
  await person.go('keys/v%2Fshort')
  await page.getByText(/9 min|10 min/).waitFor()

  await person.go('changes')
  await page.getByText('0 changes since').waitFor()
  // The watch begins when the member has said so: the first writes may come before.
  await until('a change is shown', async () => {
    await store.put('v/told', 'new')
    return (await row(person, 'v/told').count()) > 0
  })
  await store.delete('v/told')
  await row(person, 'deleted').filter({ hasText: 'v/told' }).first().waitFor()
})

test('C82: hostile keys, values and contexts are text: no script runs, and nothing is loaded', async () => {
  const hostile = '<img src=x onerror="document.title=\'hacked\'"><script>document.title="hacked"</script>'
  await store.put(`h/${hostile}`, hostile)
  await store.put('h/turned\u202egnp', 'a\u200bb')
  await store.put(Uint8Array.of(0x68, 0x2f, 0xff, 0x3c), 'no text')
  const held = await store.locks.acquire(`h/${hostile}`, { context: hostile })
  const person = await look()
  const { page } = person
  await person.go('keys')
  await page.getByLabel('Keys that begin with').fill('h/')
  await row(person, 'h/<img').filter({ hasText: '<script>' }).waitFor()
  await row(person, 'h/turned\\u202egnp').filter({ hasText: 'a\\u200bb' }).waitFor()
  await row(person, '0x682fff3c').getByRole('link').click()
  await page.getByText('no text').waitFor()
  await person.go('locks')
  await page.getByRole('link', { name: 'h/<img' }).click()
  await page.getByText(`${hostile} holds it.`).waitFor()
  await person.go('keys/%zz%00"><script>')
  await page.getByText('There is no value under this key now.').waitFor()
  expect(await page.locator('main script, main img').count()).toBe(0)
  expect(await page.title()).not.toBe('hacked')
  await held.release()
})

test('rights: a reader sees no button that would be refused, and a token with prefixes begins at its own', async () => {
  const held = await store.locks.acquire('in/lock', { context: 'ours' })
  await store.put('in/key', 'ours')
  const reader = await look({ token: 'looks' })
  expect(await reader.page.getByRole('link', { name: 'Sessions' }).count()).toBe(0)
  await reader.page.getByRole('table', { name: 'Members' }).waitFor()
  expect(await reader.page.getByRole('button', { name: /leader|Hand over/ }).count()).toBe(0)
  await reader.go('sessions')
  await reader.page.getByText('does not have the right admin').waitFor()
  await reader.go('locks/in%2Flock')
  await reader.page.getByText('ours holds it.').waitFor()
  expect(await reader.page.getByRole('button', { name: /force/ }).count()).toBe(0)
  const url = cluster.get('a').url.replace('ws', 'http')
  const force = { method: 'POST', headers: { authorization: 'Bearer looks' } }
  expect((await fetch(`${url}/v1/locks/in%2Flock:forceRelease`, force)).status).toBe(403)

  const limited = await look({ token: 'some' })
  await limited.go('locks')
  await row(limited, 'in/lock').waitFor()
  await limited.page.getByLabel('Locks that begin with').fill('out/')
  await limited.page.getByRole('alert').filter({ hasText: 'in/' }).waitFor()
  await limited.go('keys')
  await row(limited, 'in/key').waitFor()

  const writer = await look({ token: 'writes' })
  await writer.page.getByText('does not have the right read').waitFor()
  await held.release()
})

test('what cannot be undone is asked first: release by force, the end of a session, a transfer', async () => {
  await store.locks.acquire('in/forced', { lease: '60s', context: 'gone' })
  const person = await look()
  const { page } = person
  await person.go('locks/in%2Fforced')
  await page.getByRole('button', { name: 'Release by force' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('gone is not asked').waitFor()
  // The focus is at the button that does nothing, and Escape closes.
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Cancel')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(await store.locks.query('in/forced')).toHaveLength(1)
  await page.getByRole('button', { name: 'Release by force' }).click()
  await dialog.getByRole('button', { name: 'Release by force' }).click()
  await page.getByText('Nobody holds it.').waitFor()
  expect(await store.locks.query('in/forced')).toHaveLength(0)

  await person.go('sessions')
  const before = await store.sessions.list()
  const [session] = before
  await row(person, `${session?.id}`).first().getByRole('button', { name: 'End' }).click()
  await dialog.getByRole('button', { name: 'End session' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect((await store.sessions.list()).map(({ id }) => id)).not.toContain(session?.id)

  await person.go('overview')
  const leader = await cluster.leader()
  const next = cluster.members.find((member) => member !== leader)?.id as string
  const make = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: next, exact: true }) })
  await make.getByRole('button', { name: 'Make leader' }).click()
  await dialog.getByRole('button', { name: 'Make leader' }).click()
  await page.getByText(`${next} leads in term`).waitFor()
})

test('by the keyboard alone, and on a phone without scrolling sideways', async () => {
  await store.put(`phone/${'long-'.repeat(30)}`, 'x'.repeat(300))
  const held = await store.locks.acquire('phone/lock', { context: 'with-a-long-name.'.repeat(6) })
  const person = await look({ width: 360, height: 740 })
  const { page } = person
  for (const view of ['overview', 'locks', 'locks/phone%2Flock', 'keys', 'changes', 'sessions']) {
    await person.go(view)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.waitForTimeout(300)
    const [wide, shown] = (await page.evaluate(
      '[document.documentElement.scrollWidth, innerWidth]',
    )) as number[]
    expect(wide, view).toBeLessThanOrEqual(shown as number)
  }
  await page.reload()
  await page.getByRole('heading', { level: 1 }).waitFor()
  const focused = () => page.evaluate('document.activeElement.textContent')
  await person.go('locks')
  await row(person, 'phone/lock').waitFor()
  for (let i = 0; i < 30 && (await focused()) !== 'phone/lock'; i += 1) await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'phone/lock' }).waitFor()
  // A reader of the screen begins at the new view.
  expect(await page.evaluate('document.activeElement.id')).toBe('main')
  await held.release()
})

test('the leader is killed while one looks: another member’s page goes on, its own one says where', async () => {
  const leader = await cluster.leader()
  const other = cluster.members.find((member) => member !== leader) as typeof leader
  const person = await look({}, other.id)
  const own = await look({}, leader.id)
  for (const { page } of [person, own]) await page.getByText(`${leader.id} leads in term`).waitFor()
  await person.go('locks')
  await leader.kill()
  const rest = cluster.members.filter((member) => member !== leader)
  const held = await store.locks.acquire('after/leader', { lease: '60s', context: 'goes on', wait: '30s' })
  await row(person, 'after/leader').waitFor()
  await person.go('overview')
  await person.page.getByText(/1 of 3 members do not answer/).waitFor()
  await row(person, leader.url.replace('ws', 'http')).locator('[data-mark="bad"]').waitFor()
  for (const { url } of rest)
    await row(person, url.replace('ws', 'http')).locator('[data-mark="good"]').waitFor()
  expect(await person.page.locator('.headline').innerText()).toMatch(
    new RegExp(`^(${rest.map(({ id }) => id).join('|')}) leads`),
  )
  const gone = own.page.getByRole('alert').filter({ hasText: 'does not answer' })
  await gone.waitFor()
  for (const { url } of rest) await gone.getByRole('link', { name: url.replace('ws', 'http') }).waitFor()
  leader.start()
  await leader.ready()
  await gone.waitFor({ state: 'hidden' })
  await held.release()
})

const PICTURES = fileURLToPath(new URL('../../../docs/pictures/', import.meta.url))

/** Calls for the line of calls a second; ended by the function. */
function load(): () => Promise<void> {
  let isOver = false
  const run = (async () => {
    for (let n = 0; !isOver; n += 1) {
      for (let i = 0; i < 20 + 15 * Math.sin(n / 12); i += 1) await store.put('load', `${n}`)
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
  })()
  return () => {
    isOver = true
    return run
  }
}

async function somethingToShow(): Promise<() => Promise<void>> {
  for (const context of ['shipping-1 on host-2', 'refunds-4 on host-5'])
    await store.locks.acquire('orders/42', { context }).then((hold) => hold.release())
  const held = await store.locks.acquire('orders/42', { lease: '60s', context: 'billing-7f9c on host-3' })
  const report = await store.locks.acquire('reports/nightly', { lease: '60s', context: 'cron on host-1' })
  const other = await connect(cluster.urls, { token: 'all' })
  const waits = ['shipping-1 on host-2', 'refunds-4 on host-5'].map((context) =>
    other.locks.acquire('orders/42', { wait: '5m', context }).then((hold) => hold.release()),
  )
  for (const [n, state] of ['paid', 'packed', 'sent'].entries())
    await store.put(
      `orders/${n + 40}`,
      JSON.stringify({ customer: `c-${n}`, state, lines: [{ sku: 'A-1', count: n + 1 }] }),
    )
  return async () => {
    await held.release()
    await report.release()
    await Promise.all(waits)
    await other.close()
  }
}

test('pictures of each view, in light and dark', { timeout: 180_000 }, async () => {
  const isKept = process.env['WRITE_PICTURES'] !== undefined
  const to = isKept ? PICTURES : join(folder, 'pictures')
  await mkdir(to, { recursive: true })
  const tidy = await somethingToShow()
  const end = isKept ? load() : async () => {}
  for (const scheme of ['light', 'dark'] as const) {
    const person = await look({ scheme, height: 800 })
    const { page } = person
    const take = async (name: string) => {
      await page.mouse.move(0, 0)
      // The history of a lock is below the rest.
      await page.screenshot({ path: join(to, `console-${name}-${scheme}.png`), fullPage: name === 'lock' })
    }
    await page.getByText(/leads in term/).waitFor()
    // The line of calls a second needs a while.
    if (isKept) await page.waitForTimeout(40_000)
    await take('overview')
    if (scheme === 'dark') await end()
    await person.go('locks')
    await row(person, 'orders/42').waitFor()
    await take('locks')
    await page.getByRole('link', { name: 'orders/42' }).click()
    await page.getByText(/2 callers wait/).waitFor()
    await take('lock')
    await person.go('keys')
    await page.getByLabel('Keys that begin with').fill('orders/')
    await row(person, 'orders/42').waitFor()
    await row(person, 'load').waitFor({ state: 'detached' })
    await take('keys')
    await page.getByRole('link', { name: 'orders/42' }).click()
    await page.getByLabel('Value', { exact: true }).filter({ hasText: 'customer' }).waitFor()
    await take('key')
    await person.go('changes')
    let n = 43
    await until('a change is shown', async () => {
      n += 1
      await store.put(`orders/${n}`, JSON.stringify({ customer: `c-${n}`, state: 'paid' }))
      return (await row(person, 'orders/').count()) > 5
    })
    await store.delete(`orders/${n}`)
    await row(person, 'deleted').first().waitFor()
    await take('changes')
    await person.go('sessions')
    await page.getByText(/\d+ open/).waitFor()
    await take('sessions')
  }
  await end()
  expect((await readFile(join(to, 'console-lock-dark.png'))).length).toBeGreaterThan(10_000)
  await tidy()
})
