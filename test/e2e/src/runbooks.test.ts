// Test: the runbooks of docs/operations.md: the test reads each command from the page and runs it on a
// cluster of real processes.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type RemoteStore } from '@latchkey/client'
import { authority } from '@latchkey/test-chaos/certificates'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { type CommandRun, type Ended, latchkey } from '@latchkey/test-chaos/command'
import { underLoad } from '@latchkey/test-chaos/load'
import { until } from '@latchkey/test-chaos/until'
import { expect, onTestFinished, test } from 'vitest'

const page = await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
const runbooks = page.slice(
  page.indexOf('\n## Runbooks\n'),
  page.indexOf('\n## When a member refuses to start\n'),
)

/** The lines of the runbook's commands, as they stand there. */
function commandsOf(title: string): string[] {
  const at = runbooks.indexOf(`\n### ${title}\n`)
  expect(at, `a runbook "${title}"`).toBeGreaterThan(0)
  const [text = ''] = runbooks.slice(at + 5).split('\n### ')
  const [, block = ''] = /^```sh\n([^]*?)^```$/m.exec(text) ?? []
  return block.split('\n').filter((line) => line !== '')
}

/** Runs the lines in order; what stands in them for a place or a port is that of the test's cluster. */
class Operator {
  readonly cluster: Cluster
  /** What was started and goes on. */
  readonly running: CommandRun[] = []
  /** What the commands have printed. */
  out = ''

  constructor(cluster: Cluster) {
    this.cluster = cluster
  }

  async follow(title: string): Promise<void> {
    const lines = commandsOf(title)
    expect(lines.length).toBeGreaterThan(0)
    for (const line of lines) await this.run(line)
  }

  async run(line: string): Promise<void> {
    const { members, folder, urls } = this.cluster
    let here = line.replaceAll('/var/lib/latchkey/', `${folder}/`)
    for (const [at, { options }] of members.entries())
      here = here.replaceAll(`127.0.0.1:${7001 + at}`, `127.0.0.1:${options.port}`)
    const [program = '', ...args] = here.split(' ')
    if (program === 'systemctl') return this.#service(args)
    if (program === 'mv' || program === 'rm') return this.#file(program, args)
    expect(program).toBe('latchkey')
    const run = latchkey(args, urls)
    if (args[0] === 'start') return void this.running.push(run)
    const { code, out, err }: Ended = await run.ended
    // On a slow machine, `members replace` says why it waits for the new member.
    const complaint = err.replace(/^latchkey: \w+ is (?:not connected yet|catching up.*)\n/gm, '')
    expect({ line, code, complaint }).toEqual({ line, code: 0, complaint: '' })
    this.out += out
  }

  async #service([action, unit = '']: readonly string[]): Promise<void> {
    const member = this.cluster.get(unit.replace('latchkey@', ''))
    if (action === 'reload') return member.signal('SIGHUP')
    // A member that was killed is stopped already.
    if (action === 'stop') return void (await member.stop())
    expect(action).toBe('start')
    member.start()
    // The members of a new cluster wait for each other.
    if (this.cluster.members.every((one) => one.running)) await this.cluster.ready()
  }

  async #file(program: string, args: readonly string[]): Promise<void> {
    for (const arg of args) expect(arg.startsWith('-') || arg.startsWith(this.cluster.folder), arg).toBe(true)
    const [code] = (await once(spawn(program, args), 'close')) as [number]
    expect(code).toBe(0)
  }
}

async function started(
  size = 3,
  env: Readonly<Record<string, string>> = {},
): Promise<{ cluster: Cluster; operator: Operator; store: RemoteStore<'string'> }> {
  const cluster = await Cluster.start({ size, env })
  onTestFinished(() => cluster.destroy())
  const store = await connect(cluster.urls, { as: 'string', logger: false })
  const operator = new Operator(cluster)
  onTestFinished(async () => {
    await store.close().catch(() => {})
    for (const { child } of operator.running) child.kill('SIGKILL')
    await Promise.all(operator.running.map(({ ended }) => ended))
  })
  return { cluster, operator, store }
}

const fresh = async (cluster: Cluster): Promise<RemoteStore<'string'>> => {
  const store = await connect(cluster.urls, { as: 'string' })
  onTestFinished(() => store.close())
  return store
}

test('each runbook has commands that are run here, or names the test that tries it', async () => {
  const titles = [...runbooks.matchAll(/^### (.*)$/gm)].map(([, title = '']) => title)
  expect(titles).toHaveLength(8)
  const own = await readFile(new URL('./runbooks.test.ts', import.meta.url), 'utf8')
  for (const title of titles) {
    if (commandsOf(title).length > 0) {
      expect(own, title).toContain(`follow(${title.includes("'") ? `"${title}"` : `'${title}'`})`)
      continue
    }
    const [text = ''] = runbooks.slice(runbooks.indexOf(`\n### ${title}\n`) + 5).split('\n### ')
    const [, file = '', name = ''] =
      /test of this runbook is `test\/e2e\/src\/([\w-]+\.test\.ts)`: "([^"]+)"/.exec(
        text.replace(/\s+/g, ' '),
      ) ?? []
    expect(file, title).not.toBe('')
    expect(await readFile(new URL(`./${file}`, import.meta.url), 'utf8')).toContain(name)
  }
})

test('OP2, OP4: the majority is lost for good: all that the survivor had got is in the new cluster, which is another one', async () => {
  const { cluster, operator, store } = await started()
  await store.put('from', 'all three')
  const { clusterId } = await store.status()
  await cluster.get('c').kill()
  // From here on each confirmed write is in the logs of a and b.
  const hold = await store.locks.acquire('held', { lease: '10m' })
  for (let i = 0; i < 40; i++) await store.put(`k/${i}`, `v${i}`)
  await Promise.all([cluster.get('a').kill(), cluster.get('b').kill()])
  // What c had got is less, and it says so.
  const less = join(cluster.folder, 'less.backup')
  await operator.run(
    `latchkey recover ${less} --dir ${join(cluster.folder, 'c')} --writes-may-be-lost --json`,
  )
  const ofC = JSON.parse(operator.out) as { term: number; index: number }
  for (const id of ['b', 'c']) await rm(join(cluster.folder, id), { recursive: true })
  operator.out = ''
  await operator.follow('The majority is lost for good')
  expect(operator.out).toMatch(/LOST: every write after index \d+/)
  const [, term, index] = /term (\d+), index (\d+)/.exec(operator.out) ?? []
  expect([Number(term) > ofC.term || Number(index) >= ofC.index + 41, Number(term) >= ofC.term]).toEqual([
    true,
    true,
  ])
  const next = await fresh(cluster)
  expect(await next.get('from')).toBe('all three')
  for (let i = 0; i < 40; i++) expect(await next.get(`k/${i}`)).toBe(`v${i}`)
  expect(await next.locks.query('held')).toMatchObject([{ fencingToken: hold.token }])
  expect((await next.locks.acquire('other')).token).toBeGreaterThan(hold.token + 2 ** 31)
  expect((await next.status()).clusterId).not.toBe(clusterId)
  await expect(store.put('from', 'the old one', { timeout: '20s' })).rejects.toMatchObject({
    code: 'ERR_WRONG_CLUSTER',
  })
})

test('a disk is lost: the member is replaced by itself, and counts again', async () => {
  const { cluster, operator, store } = await started()
  await store.put('k', 'v')
  await cluster.get('b').kill()
  await operator.follow("A member's disk is lost")
  await cluster.get('c').kill()
  // Without b there is no majority.
  await store.put('with', 'b', { timeout: '60s' })
  expect(await store.get('k')).toBe('v')
})

test('an upgrade after a backup, without a failed call; then back to that backup', async () => {
  const { cluster, operator, store } = await started()
  await store.put('kept', 'before')
  const report = await underLoad(cluster.urls, async (load) => {
    await load.more(10)
    await operator.follow('An upgrade')
    await load.more(10)
  })
  expect([report.errors, report.faults]).toEqual([[], []])
  await store.put('kept', 'by mistake')
  await store.close()
  await operator.follow('Back to a backup')
  expect(await (await fresh(cluster)).get('kept')).toBe('before')
})

test('a wrong clock: the doctor finds it, another one leads, the member is stopped and comes back', async () => {
  const machine = new URL('../dist/doctor/faulty-machine.js', import.meta.url).href
  const { cluster, operator, store } = await started(3, { NODE_OPTIONS: `--import ${machine}` })
  const a = cluster.get('a')
  await a.stop()
  a.start({ shell: 'export FAULTY_CLOCK=1.3' })
  await a.ready()
  await store.transferLeadership('a')
  const clock = async () => {
    const { out } = await latchkey(['doctor', '--watch', '1s'], cluster.urls).ended
    return /^error +clock: (.*): its clock runs at a wrong rate/m.exec(out)?.[1]
  }
  // A pause of this machine may explain a difference; then the doctor says nothing, and is asked again.
  await until('the doctor finds the clock', async () => (await clock()) === `member a (${a.url})`)
  const hold = await store.locks.acquire('held', { lease: '1m' })
  await operator.follow('A clock is wrong')
  expect(operator.out).toContain('b leads now')
  await cluster.ready()
  expect(await clock()).toBeUndefined()
  expect(hold.held).toBe(true)
})

test('a lock is stuck: who has it and who waits is told, and the next one gets it', async () => {
  const { operator, store, cluster } = await started(1)
  const hold = await store.locks.acquire('jobs/nightly', { context: 'host7 pid 4711', lease: '10m' })
  const other = await fresh(cluster)
  const waiting = other.locks.acquire('jobs/nightly', { context: 'host8', wait: '60s' })
  await until('it waits', async () => (await store.locks.query('jobs/nightly'))[0]?.waiters === 1)
  await operator.follow('A lock is stuck: who has it?')
  expect(operator.out).toMatch(/jobs\/nightly.*host7 pid 4711/)
  expect(operator.out).toContain('host8')
  expect((await waiting).token).toBeGreaterThan(hold.token)
})

test('an expired certificate is replaced by a reload, without a restart', async () => {
  const ours = authority('ours')
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-tls-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const write = async (path: string, { cert, key } = ours.issue('member')) => {
    await writeFile(path, cert + key)
    return ['--tls-cert', path, '--tls-key', path]
  }
  await writeFile(join(folder, 'ca.pem'), ours.cert)
  const flags = [...(await write(join(folder, 'first.pem'))), '--tls-ca', join(folder, 'ca.pem')]
  const cluster = await Cluster.start({ ca: ours.cert, flags })
  onTestFinished(() => cluster.destroy())
  const late = cluster.get('c')
  await late.stop()
  const yesterday = { from: new Date(Date.now() - 9e7), to: new Date(Date.now() - 8e7) }
  late.start({ flags: await write(join(cluster.folder, 'tls.pem'), ours.issue('member', yesterday)) })
  await until('the others say why', () =>
    ['a', 'b'].every((id) => cluster.get(id).output.includes('CERT_HAS_EXPIRED')),
  )
  const { pid } = late
  await write(join(cluster.folder, 'new.pem'))
  await new Operator(cluster).follow('A certificate has expired')
  await late.ready()
  expect(late.pid).toBe(pid)
})
