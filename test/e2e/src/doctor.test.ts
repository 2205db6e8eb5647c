// Test: `latchkey doctor` as a process, over real members: a healthy cluster, a member that is down, an expired
// certificate, two clusters, a wrong name of the cluster, a wrong token, a low limit on open files.

import { spawn } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { authority, type Pair } from '@latchkey/test-chaos/certificates'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { CommandRun, LATCHKEY, latchkey } from '@latchkey/test-chaos/command'
import { afterAll, beforeAll, expect, test } from 'vitest'

interface Finding {
  readonly check: string
  readonly level: string
  readonly about: string
  readonly message: string
  readonly advice?: string
}

const FLAGS = ['--token', 'reader', '--member-token', 'proof-of-a-member-of-the-doctor-test']
let cluster: Cluster
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-doctor-'))
  cluster = await Cluster.start({ token: 'reader', flags: FLAGS })
}, 60_000)
afterAll(async () => {
  await cluster.destroy()
  await rm(folder, { recursive: true, force: true })
})

/** Faults of the disk and of the space depend on the machine that runs this test. */
const OF_THE_MACHINE = ['disk', 'space', 'files']

async function examined(run: CommandRun) {
  const { code, out, err } = await run.ended
  expect(err).toBe('')
  const { findings } = JSON.parse(out) as { findings: Finding[] }
  const faults = findings.filter(({ check, level }) => level === 'error' && !OF_THE_MACHINE.includes(check))
  for (const { advice } of faults) expect(advice).toMatch(/\w/)
  return { code, findings, faults }
}

const TOKEN = { LATCHKEY_TOKEN: 'reader' }
const doctor = (
  endpoints: readonly string[],
  args: readonly string[] = [],
  env: Record<string, string> = TOKEN,
) => examined(latchkey(['doctor', '--json', '--watch', '200ms', ...args], endpoints, env))

test('a healthy cluster, found whole from one address; the disk is measured and nothing stays there', async () => {
  const before = await readdir(folder)
  const { findings, faults } = await doctor([cluster.get('a').url], ['--dir', folder])
  expect(faults).toEqual([])
  const answered = findings.filter(({ check, level }) => check === 'member' && level === 'ok')
  expect(answered.map(({ about }) => about)).toEqual(
    ['a', 'b', 'c'].map((id) => `member ${id} (${cluster.get(id).url})`),
  )
  expect(findings.find(({ check }) => check === 'disk')?.message).toMatch(/with its sync takes [0-9.]+ ms/)
  expect(await readdir(folder)).toEqual(before)
})

test('for people: a line for each check, the faults last, and the sum', async () => {
  const { out } = await latchkey(['doctor', '--watch', '200ms'], cluster.urls, TOKEN).ended
  expect(out).toMatch(/^ok +leader: the cluster: [abc] leads in term \d+$/m)
  expect(out).toMatch(/\d+ faults, \d+ warnings\n$/)
})

test('a member that is down is told, with what to do; nobody there is exit code 69', async () => {
  const down = cluster.get('c')
  expect(await down.stop()).toBe(0)
  const { code, faults } = await doctor([cluster.get('a').url])
  expect(code).toBe(1)
  expect(faults).toContainEqual(expect.objectContaining({ check: 'port', about: `member c (${down.url})` }))
  expect((await doctor([down.url])).code).toBe(69)
  down.start()
  await down.ready()
})

test('a wrong token and a wrong name of the cluster are told as such', async () => {
  const { code, faults } = await doctor([cluster.get('a').url], [], { LATCHKEY_TOKEN: 'wrong-token' })
  expect(code).toBe(69)
  expect(faults[0]).toMatchObject({ check: 'member', advice: expect.stringContaining('token') as string })
  const other = await doctor([cluster.get('a').url], ['--cluster', 'other'])
  expect(other.faults[0]).toMatchObject({ check: 'cluster' })
})

test('addresses of two clusters, and a member that answers for another one', async () => {
  const stranger = await Cluster.start({ size: 1, token: 'reader', flags: FLAGS })
  try {
    const { code, faults } = await doctor([cluster.get('a').url, stranger.get('a').url])
    expect(code).toBe(1)
    expect(faults).toContainEqual(
      expect.objectContaining({
        check: 'cluster',
        message: expect.stringContaining('2 different clusters answer') as string,
      }),
    )
  } finally {
    await stranger.destroy()
  }
})

test('a low limit on open files of the shell', async () => {
  const words = [
    process.execPath,
    LATCHKEY,
    'doctor',
    '--json',
    '--watch',
    '200ms',
    '--endpoint',
    cluster.get('a').url,
  ]
  const child = spawn('bash', ['-c', 'ulimit -n 300; exec "$@"', 'bash', ...words], {
    env: { ...process.env, ...TOKEN },
  })
  const { code, findings } = await examined(new CommandRun(child))
  expect(code).toBe(1)
  expect(findings.find(({ check }) => check === 'files')).toMatchObject({
    level: 'error',
    message: expect.stringContaining('may open 300 files') as string,
  })
})

test('a member that shows an expired certificate', async () => {
  const ours = authority('ours')
  const yesterday = { from: new Date(Date.now() - 9e7), to: new Date(Date.now() - 8e7) }
  const ca = join(folder, 'ca.pem')
  await writeFile(ca, ours.cert)
  const flagsOf = async (name: string, { cert, key }: Pair) => {
    const [certFile, keyFile] = [join(folder, `${name}.pem`), join(folder, `${name}-key.pem`)]
    await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)])
    return ['--tls-cert', certFile, '--tls-key', keyFile, '--tls-ca', ca]
  }
  const secure = await Cluster.start({
    ca: ours.cert,
    size: 1,
    flags: await flagsOf('member', ours.issue('member')),
  })
  try {
    const member = secure.get('a')
    expect((await doctor([member.url], ['--ca', ca])).faults).toEqual([])
    await member.stop()
    member.start({ flags: await flagsOf('expired', ours.issue('member', yesterday)) })
    await expect.poll(() => member.output, { timeout: 20_000 }).toMatch(/has expired/)
    const { code, faults } = await doctor([member.url], ['--ca', ca])
    expect(code).toBe(69)
    expect(faults).toContainEqual(
      expect.objectContaining({
        check: 'certificate',
        message: expect.stringMatching(/"member" has expired on/) as string,
      }),
    )
  } finally {
    await secure.destroy()
  }
})
