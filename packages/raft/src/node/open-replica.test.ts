// Test: openRaft on a real disk: what a caller of `submit` and `read` learns.

import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text, utf8 } from '@latchkey/base'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openRaft, type RaftOptions } from './open-replica.js'
import { Counter } from './testing/counter.js'

const MiB = 1024 * 1024

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'latchkey-raft-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

async function opened(options: Partial<RaftOptions> = {}) {
  const machine = new Counter()
  const raft = await openRaft({
    id: 'a',
    dir: folder(),
    machine,
    electionTimeout: 100,
    heartbeat: 10,
    ...options,
  })
  onTestFinished(() => raft.close())
  return { raft, machine }
}

const leading = async () => {
  const alone = await opened()
  await expect.poll(() => alone.raft.replica.node.role).toBe('leader')
  return alone
}
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    ({ code }: { code: string }) => code,
  )

test('a command is answered by the state machine, and a read resolves when it was applied', async () => {
  const { raft, machine } = await leading()
  expect(text(await raft.submit(utf8('x')))).toBe('1')
  await raft.read()
  expect(machine.words).toEqual(['x'])
})

test('a command beyond the size of an entry is ERR_TOO_LARGE, and beyond what may be in flight ERR_BUSY', async () => {
  const { raft } = await leading()
  expect(await codeOf(raft.submit(new Uint8Array(9 * MiB)))).toBe('ERR_TOO_LARGE')
  const codes = await Promise.all([1, 2, 3].map(() => codeOf(raft.submit(new Uint8Array(7 * MiB)))))
  expect(codes).toEqual(['done', 'done', 'ERR_BUSY'])
})

test('without a leader a command and a read are ERR_NO_LEADER, and after close a command is ERR_CLOSED', async () => {
  const members = { a: 'ws://127.0.0.1:0', b: 'ws://127.0.0.1:1' }
  const { raft } = await opened({ members })
  expect(await codeOf(raft.submit(utf8('x')))).toBe('ERR_NO_LEADER')
  expect(await codeOf(raft.read())).toBe('ERR_NO_LEADER')
  await raft.close()
  expect(await codeOf(raft.submit(utf8('x')))).toBe('ERR_CLOSED')
})

test('if the port is taken, openRaft closes what it has opened, and the directory can be opened again', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const dir = folder()
  const machine = new Counter()
  const close = vi.spyOn(machine, 'close')
  const options = { id: 'a', dir, machine, members: { a: `ws://127.0.0.1:${port}` } }
  await expect(openRaft(options)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  expect(close).toHaveBeenCalledOnce()
  server.close()
  await once(server, 'close')
  await (await openRaft(options)).close()
})

test('if the log cannot be opened, openRaft closes the state machine and releases the directory', async () => {
  const dir = folder()
  const machine = new Counter()
  const close = vi.spyOn(machine, 'close')
  writeFileSync(join(dir, 'log'), 'a file where the folder of the log belongs')
  await expect(openRaft({ id: 'a', dir, machine })).rejects.toThrow()
  expect(close).toHaveBeenCalledOnce()
  rmSync(join(dir, 'log'))
  await (await openRaft({ id: 'a', dir, machine: new Counter() })).close()
})
