// Test: real processes whose output cannot be written, because the reader has gone or the disk is full.

import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const BIN = fileURLToPath(new URL('../../bin/latchkey.js', import.meta.url))

function latchkey(args: string[], stdout: 'pipe' | number, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [BIN, ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', stdout, 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let err = ''
  child.stderr?.on('data', (bytes: Buffer) => (err += bytes.toString()))
  const ended = new Promise<{ code: number | null; err: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, err })),
  )
  return { child, ended }
}

test('output that finds no room is a failure, and is told', async () => {
  // Only Linux has a device that is always full.
  if (!existsSync('/dev/full')) return expect(process.platform).not.toBe('linux')
  const { code, err } = await latchkey(['--help'], openSync('/dev/full', 'w')).ended
  expect(code).toBe(1)
  expect(err).toMatch(/^latchkey: standard output: .*ENOSPC/)
})

test('a demo whose reader has gone ends, quietly, and leaves nothing behind', async () => {
  const temp = mkdtempSync(join(tmpdir(), 'latchkey-streams-'))
  onTestFinished(() => rmSync(temp, { recursive: true, force: true }))
  const { child, ended } = latchkey(['demo'], 'pipe', { TMPDIR: temp })
  await new Promise<void>((resolve) =>
    child.stdout?.on('data', (bytes: Buffer) => {
      if (bytes.toString().includes('token')) resolve()
    }),
  )
  child.stdout?.destroy()
  expect(await ended).toEqual({ code: 0, err: '' })
  expect(readdirSync(temp)).toEqual([])
})

test('a help that is read to its first line alone is no failure', async () => {
  const { child, ended } = latchkey(['start', '--help'], 'pipe')
  child.stdout?.once('data', () => child.stdout?.destroy())
  expect(await ended).toEqual({ code: 0, err: '' })
})
