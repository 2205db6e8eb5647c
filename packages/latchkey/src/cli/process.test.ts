// Test: the built command as a process: its exit codes, streams and signals, as a shell sees them.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { freePorts } from '../open/testing/free-ports.js'

const BIN = fileURLToPath(new URL('../../bin/latchkey.js', import.meta.url))
const dir = mkdtempSync(join(tmpdir(), 'latchkey-process-'))
// Processes take their time on a busy machine.

const quick = ['--election-timeout', '200', '--heartbeat', '20']
let port: number
let sidecar: Running

interface Running {
  readonly child: ChildProcess
  readonly printed: { out: string; err: string }
  readonly ended: Promise<{ code: number | null; signal: string | null; out: string; err: string }>
}

function latchkey(args: string[], env: Record<string, string> = {}, input = ''): Running {
  const base = { PATH: process.env.PATH ?? '', LATCHKEY_ENDPOINT: `ws://127.0.0.1:${port}` }
  const child = spawn(process.execPath, [BIN, ...args], { env: { ...base, ...env } })
  const printed = { out: '', err: '' }
  child.stdout.on('data', (bytes: Buffer) => (printed.out += bytes.toString()))
  child.stderr.on('data', (bytes: Buffer) => (printed.err += bytes.toString()))
  // A command that ends at once may be gone before it is told anything.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const ended = new Promise<Awaited<Running['ended']>>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, ...printed }))
  })
  return { child, printed, ended }
}

const run = (...args: string[]) => latchkey(args).ended

/** Waits until its output matches. */
async function printedBy({ printed }: Running, what: RegExp): Promise<RegExpExecArray> {
  await expect.poll(() => printed.out, { timeout: 50_000 }).toMatch(what)
  return what.exec(printed.out) as RegExpExecArray
}

const freePort = async (): Promise<number> => (await freePorts(1))[0] as number

const statusOf = (path: string, at = port) =>
  fetch(`http://127.0.0.1:${at}${path}`).then(
    (response) => response.status,
    () => 0,
  )

async function start(id: string, at: number, ...more: string[]): Promise<Running> {
  const running = latchkey([
    'start',
    '--id',
    id,
    '--dir',
    join(dir, id),
    '--listen',
    `127.0.0.1:${at}`,
    ...quick,
    ...more,
  ])
  // A hook has no expect.poll.
  await vi.waitFor(async () => expect(await statusOf('/readyz', at)).toBe(200), {
    timeout: 50_000,
    interval: 50,
  })
  return running
}

beforeAll(async () => {
  port = await freePort()
  sidecar = await start('a', port)
})
afterAll(async () => {
  sidecar.child.kill('SIGKILL')
  await sidecar.ended
  rmSync(dir, { recursive: true, force: true })
})

test('values go through as bytes, from standard input to standard output', async () => {
  expect(await latchkey(['put', 'k'], {}, 'two\nlines').ended).toMatchObject({ code: 0, out: '', err: '' })
  expect(await run('get', 'k')).toMatchObject({ code: 0, out: 'two\nlines', err: '' })
  expect(await run('get', 'absent')).toMatchObject({ code: 1, out: '', err: '' })
})

test('nobody reachable is 69', async () => {
  const unreachable = { LATCHKEY_ENDPOINT: `ws://127.0.0.1:${await freePort()}` }
  const { code, err } = await latchkey(['get', 'k', '--timeout', '300ms'], unreachable).ended
  expect([code, err]).toEqual([69, expect.stringContaining('ERR_NO_LEADER')])
})

describe('signals', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('watch ends by %s with %d', async (signal, code) => {
    const watching = latchkey(['watch', 'w', '--json'])
    // It begins after the revision at which it was asked: written until it is seen.
    await expect
      .poll(
        async () => {
          await fetch(`http://127.0.0.1:${port}/v1/kv/w`, { method: 'PUT', body: 'x' })
          return watching.printed.out
        },
        { timeout: 30_000 },
      )
      .toContain('"type":"put"')
    watching.child.kill(signal)
    expect(await watching.ended).toMatchObject({ code, err: '' })
  })

  test('lock passes SIGTERM on, ends as the command does, and the lock is free at once', async () => {
    const locked = latchkey([
      'lock',
      'job',
      '--lease',
      '10m',
      '--',
      'sh',
      '-c',
      'trap "exit 7" TERM; echo up; while :; do sleep 0.02; done',
    ])
    await printedBy(locked, /^up\n$/)
    expect((await run('lock', 'job', '--wait', '0', '--', 'true')).code).toBe(75)
    locked.child.kill('SIGTERM')
    expect((await locked.ended).code).toBe(7)
    expect(await statusOf('/v1/locks/job')).toBe(404)
  })
})

describe('elect, semaphore and shared locks', () => {
  test('elect: one leads, another is told who, and the next one runs when the first one ends', async () => {
    const first = latchkey([
      'elect',
      'jobs',
      '--value',
      'one',
      '--',
      'sh',
      '-c',
      'echo $LATCHKEY_LOCK_TOKEN; while :; do sleep 0.05; done',
    ])
    const [, token] = await printedBy(first, /^(\d+)\n/)
    expect(await run('elect', 'jobs', '--wait', '0', '--', 'true')).toMatchObject({
      code: 75,
      err: 'latchkey: another leads "jobs": one\n',
    })
    const second = latchkey(['elect', 'jobs', '--', 'sh', '-c', 'echo $LATCHKEY_LOCK_TOKEN'])
    first.child.kill('SIGTERM')
    expect((await first.ended).code).toBe(143)
    const { code, out } = await second.ended
    expect([code, Number(out) > Number(token)]).toEqual([0, true])
  })

  test('locks lists what commands hold, of every kind, as text and as JSON', async () => {
    const sleep = ['--', 'sh', '-c', 'echo up; while :; do sleep 0.05; done']
    const held = [
      latchkey(['lock', 'every/lock', ...sleep]),
      latchkey(['lock', 'every/read', '--shared', ...sleep]),
      latchkey(['semaphore', 'every/permits', '--of', '3', '--permits', '2', ...sleep]),
      latchkey(['elect', 'every/led', '--value', 'host-1', ...sleep]),
    ]
    for (const one of held) await printedBy(one, /up/)
    const waits = latchkey(['semaphore', 'every/permits', '--of', '3', '--permits', '3', '--', 'true'])
    const listed = async (...more: string[]) => (await run('locks', 'every/', ...more)).out
    await expect.poll(() => listed('--queue')).toMatch(/1\. waits +3 permits/)
    const text = await listed()
    for (const line of [
      /^lock +every\/lock +exclusive /m,
      /^lock +every\/read +shared /m,
      /^semaphore +every\/permits +2 permits .* 1$/m,
      /^election +every\/led +exclusive +[0-9a-f]+ +host-1 /m,
    ])
      expect(text).toMatch(line)
    const rows = (await listed('--json', '--queue'))
      .trim()
      .split('\n')
      .map((row) => JSON.parse(row) as object)
    expect(rows).toMatchObject([
      { kind: 'lock', key: 'every/lock', mode: 'exclusive' },
      { kind: 'lock', key: 'every/read', mode: 'shared' },
      { kind: 'semaphore', key: 'every/permits', permits: 2, waiters: 1, queue: [{ permits: 3 }] },
      { kind: 'election', key: 'every/led', context: 'host-1' },
    ])
    for (const { child } of held) child.kill('SIGTERM')
    await Promise.all([...held, waits].map(({ ended }) => ended))
    expect(await listed()).toBe('nothing is held\n')
  })

  test('semaphore: as many at a time as it has permits; another number is said', async () => {
    const two = [
      'semaphore',
      'reports',
      '--of',
      '2',
      '--permits',
      '2',
      '--',
      'sh',
      '-c',
      'echo in; while :; do sleep 0.05; done',
    ]
    const first = latchkey(two)
    await printedBy(first, /in/)
    const busy = await run('semaphore', 'reports', '--of', '2', '--wait', '0', '--', 'true')
    expect(busy).toMatchObject({ code: 75, err: 'latchkey: 1 of 2 permits of "reports" were not free\n' })
    const other = await run('semaphore', 'reports', '--of', '3', '--', 'true')
    expect([other.code, other.err]).toEqual([1, expect.stringContaining('ERR_MISMATCH')])
    first.child.kill('SIGTERM')
    await first.ended
    expect((await run('semaphore', 'reports', '--of', '2', '--wait', '20s', '--', 'true')).code).toBe(0)
    expect((await run('semaphore', 'reports', '--', 'true')).err).toContain('--of is missing')
  })

  test('lock --shared: two run beside each other, and one that wants it alone does not', async () => {
    const first = latchkey([
      'lock',
      'both',
      '--shared',
      '--',
      'sh',
      '-c',
      'echo in; while :; do sleep 0.05; done',
    ])
    await printedBy(first, /in/)
    expect((await run('lock', 'both', '--shared', '--wait', '0', '--', 'true')).code).toBe(0)
    expect((await run('lock', 'both', '--wait', '0', '--', 'true')).code).toBe(75)
    first.child.kill('SIGTERM')
    await first.ended
  })
})

describe('start', () => {
  test('SIGTERM: a graceful stop, 0, and the log is JSON without a secret; a start over the same directory goes on', async () => {
    const at = await freePort()
    const first = await start('b', at, '--token', 'hunter2secret')
    const headers = { authorization: 'Bearer hunter2secret' }
    await fetch(`http://127.0.0.1:${at}/v1/kv/kept`, { method: 'PUT', body: 'yes', headers })
    first.child.kill('SIGTERM')
    const { code, out, err } = await first.ended
    expect([code, err]).toEqual([0, ''])
    for (const line of out.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg')
    expect(out).not.toContain('hunter2secret')
    const second = await start('b', at)
    expect(await (await fetch(`http://127.0.0.1:${at}/v1/kv/kept`)).text()).toBe('yes')
    second.child.kill('SIGINT')
    expect((await second.ended).code).toBe(0)
  })

  test('a port that is taken is 78, a directory that is taken 1 with its code', async () => {
    const taken = await run('start', '--id', 'c', '--dir', join(dir, 'c'), '--listen', `127.0.0.1:${port}`)
    expect(taken).toMatchObject({ code: 78, err: expect.stringContaining('EADDRINUSE') })
    const held = await run('start', '--id', 'a', '--dir', join(dir, 'a'), '--listen', '127.0.0.1:0')
    expect(held).toMatchObject({ code: 1, err: expect.stringContaining('ERR_DIR_LOCKED') })
  })

  test('an unknown key in the file, or a wide address without --insecure, is 78', async () => {
    const file = join(dir, 'config.json')
    writeFileSync(file, '{"id": "d", "colour": 1}')
    expect(await run('start', '--config', file)).toMatchObject({
      code: 78,
      err: expect.stringContaining('"colour"'),
    })
    const wide = await run('start', '--id', 'd', '--dir', join(dir, 'd'), '--listen', '0.0.0.0:0')
    expect(wide).toMatchObject({ code: 78, err: expect.stringContaining('--insecure') })
    expect(readdirSync(dir)).not.toContain('d')
  })
})

describe('SIGHUP', () => {
  const tokens = join(dir, 'tokens.json')
  const write = (text: string) => writeFileSync(tokens, text, { mode: 0o600 })
  const get = async (at: number, token: string) =>
    (await fetch(`http://127.0.0.1:${at}/v1/kv/k`, { headers: { authorization: `Bearer ${token}` } })).status

  test('C41: a tokens file is read again by it and when it changes; a broken one changes nothing; the process stays', async () => {
    const at = await freePort()
    write(JSON.stringify({ tokens: [{ token: 'secret-one' }] }))
    const member = await start('hup', at, '--tokens', tokens)
    onTestFinished(() => void member.child.kill('SIGKILL'))
    expect([await get(at, 'secret-one'), await get(at, 'secret-two')]).toEqual([404, 401])
    write(JSON.stringify({ tokens: [{ token: 'secret-two' }] }))
    member.child.kill('SIGHUP')
    await expect.poll(() => get(at, 'secret-two')).toBe(404)
    expect(await get(at, 'secret-one')).toBe(401)
    write('{ "tokens": ["secret-thr')
    member.child.kill('SIGHUP')
    await printedBy(member, /the old ones stay in use/)
    expect(await get(at, 'secret-two')).toBe(404)
    // Nobody says so: it is seen by itself.
    write(JSON.stringify({ tokens: [{ token: 'secret-three' }, { token: 'secret-two' }] }))
    await expect.poll(() => get(at, 'secret-three')).toBe(404)
    const headers = { authorization: 'Bearer secret-two' }
    const figures = await (await fetch(`http://127.0.0.1:${at}/metrics`, { headers })).text()
    expect(figures).toMatch(/^latchkey_reloads_total\{result="ok"\} [1-9]/m)
    expect(figures).toMatch(/^latchkey_reloads_total\{result="refused"\} [1-9]/m)
    member.child.kill('SIGTERM')
    const ended = await member.ended
    expect(ended.code).toBe(0)
    expect(ended.out + ended.err).not.toContain('secret-')
  })
})

test('a backup is restored into a new directory', async () => {
  const file = join(dir, 'backup')
  await run('put', 'saved', 'value')
  expect(await run('backup', file)).toMatchObject({ code: 0, err: '' })
  expect(await run('restore', file, '--id', 'r', '--dir', join(dir, 'r'))).toMatchObject({ code: 0, err: '' })
  const at = await freePort()
  const restored = await start('r', at)
  onTestFinished(() => void restored.child.kill('SIGKILL'))
  expect(await (await fetch(`http://127.0.0.1:${at}/v1/kv/saved`)).text()).toBe('value')
})

/** A line that the demo prints with --json. A line has only some of the optional values. */
interface DemoLine {
  readonly seconds: number
  readonly killed?: string
  readonly leader?: string
  readonly millis?: number
  readonly token?: number
  readonly gapMillis?: number
}

test('demo: three members, a killed leader, higher tokens, nothing left behind', async () => {
  const temp = mkdtempSync(join(dir, 'demo-'))
  const { code, out, err } = await latchkey(['demo', '--seconds', '15', '--json'], { TMPDIR: temp }).ended
  expect([code, err]).toEqual([0, ''])
  const tokens = [...out.matchAll(/token (\d+)/g)].map(([, token]) => Number(token))
  // The start of three members may use most of the time. The demo kills the leader all the same.
  expect(tokens.length).toBeGreaterThan(1)
  expect(tokens).toEqual(tokens.toSorted((a, b) => a - b))
  expect(new Set(tokens).size).toBe(tokens.length)
  expect(out).toMatch(
    /the leader, \w, is killed[\s\S]* leads now, \d+ ms after the kill[\s\S]*, each with a higher token/,
  )
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as DemoLine)
  const killed = lines.find((line) => line.killed !== undefined)
  const leads = lines.find((line) => line.leader !== undefined)
  const [grant, summary, ...others] = lines.filter((line) => line.gapMillis !== undefined)
  expect([grant?.token, others]).toEqual([expect.any(Number), []])
  // The demo starts this measurement after the line of the kill, and ends it before the line of the grant. So
  // the time between the two lines is the longest possible result. A line has hundredths of a second.
  const most = ((grant?.seconds ?? 0) - (killed?.seconds ?? 0)) * 1000 + 11
  expect(grant?.gapMillis).toBeGreaterThanOrEqual(leads?.millis ?? Infinity)
  expect(grant?.gapMillis).toBeLessThanOrEqual(most)
  expect(summary?.gapMillis).toBe(grant?.gapMillis)
  expect(readdirSync(temp)).toEqual([])
})

test('demo cleans up when it is interrupted', async () => {
  const temp = mkdtempSync(join(dir, 'demo-'))
  const showing = latchkey(['demo'], { TMPDIR: temp })
  await printedBy(showing, /token/)
  showing.child.kill('SIGINT')
  expect((await showing.ended).code).toBe(130)
  expect(readdirSync(temp)).toEqual([])
})
