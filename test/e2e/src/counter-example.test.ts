// Test: the replicated counter in the README of the raft package runs exactly as it is written there.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePorts } from '@latchkey/test-chaos/ports'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))

function start(id: string, folder: string, members: string): { child: ChildProcess; lines: string[] } {
  const child = spawn(process.execPath, [join(root, 'examples/replicated-counter.mjs'), id], {
    env: { ...process.env, COUNTER_DIR: join(folder, id), COUNTER_MEMBERS: members },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  const keep = (chunk: Buffer) => lines.push(...chunk.toString().split('\n').filter(Boolean))
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  return { child, lines }
}

test('three counters agree, and go on where they were', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-'))
  const ports = await freePorts(3)
  const ids = ['a', 'b', 'c']
  const members = JSON.stringify(Object.fromEntries(ids.map((id, i) => [id, `ws://127.0.0.1:${ports[i]}`])))
  const counts = (lines: readonly string[]) => lines.map((line) => Number(/count (\d+)/.exec(line)?.[1] ?? 0))
  const running: ChildProcess[] = []
  try {
    const first = ids.map((id) => start(id, folder, members))
    running.push(...first.map((one) => one.child))
    for (const { lines } of first)
      await expect.poll(() => Math.max(0, ...counts(lines)), { timeout: 50_000 }).toBeGreaterThanOrEqual(3)
    for (const { child } of first) {
      child.kill('SIGINT')
      await once(child, 'exit')
    }
    const reached = Math.max(...first.flatMap(({ lines }) => counts(lines)))
    const again = ids.map((id) => start(id, folder, members))
    running.push(...again.map((one) => one.child))
    for (const { lines } of again)
      await expect.poll(() => Math.max(0, ...counts(lines)), { timeout: 50_000 }).toBeGreaterThan(reached)
  } finally {
    for (const child of running) child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
})

test('it is shown in the README as it is, in under 60 lines', async () => {
  const code = await readFile(join(root, 'examples/replicated-counter.mjs'), 'utf8')
  expect(code.split('\n').length).toBeLessThan(60)
  expect(await readFile(join(root, 'packages/raft/README.md'), 'utf8')).toContain(code)
})
