// Test: when certificates and tokens are read again, how often this is counted, and what the log says.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '@latchkey/base'
import { expect, onTestFinished, test } from 'vitest'
import { Reloader } from './certificate-and-token-reloader.js'

async function scene() {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-reloader-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'tokens.json')
  writeFileSync(file, 'good')
  const lines: string[] = []
  let [text, look] = ['good', () => {}]
  const clock = {
    now: () => 0,
    instant: () => ({ hr: 0, up: 0, wall: 0 }),
    after: (_: number, run: () => void) => {
      look = run
      return { cancel: () => void (look = () => {}) }
    },
  }
  const logger = {
    ...silentLogger,
    info: (message: string) => void lines.push(`info ${message}`),
    error: (message: string) => void lines.push(`error ${message}`),
  }
  const reload = () => {
    if (text.trim() !== 'good') throw new TypeError(`${text} is no JSON`)
  }
  const seen = await Reloader.look([file])
  const made = () => new Reloader({ clock, logger, files: [file], seen, reload })
  const write = (next: string) => {
    text = next
    writeFileSync(file, next)
  }
  /** The next look for changes, and what comes of it. */
  const pass = async () => {
    const before = look
    look()
    await expect.poll(() => look !== before).toBe(true)
  }
  return { made, lines, write, pass }
}

test('C41: a bad file is refused and logged once, whether a signal or its change comes first', async () => {
  const { made, lines, write, pass } = await scene()
  const reloader = made()
  await reloader.run('SIGHUP')
  expect(reloader.counts).toEqual({ ok: 1, refused: 0 })
  write('half a fi')
  await reloader.run('SIGHUP')
  await pass()
  expect(reloader.counts).toEqual({ ok: 1, refused: 1 })
  write('another half')
  await pass()
  await reloader.run('SIGHUP')
  expect(reloader.counts).toEqual({ ok: 1, refused: 2 })
  expect(lines.filter((line) => line.startsWith('error'))).toHaveLength(2)
  // Who asks again hears that it is still so.
  expect(lines.at(-1)).toBe('info certificates and tokens have not changed since they were refused')
})

test('C41: a mended file is taken, and the same mistake made again counts again', async () => {
  const { made, write, pass } = await scene()
  const reloader = made()
  await pass()
  for (const text of ['bad', 'good', 'bad']) {
    write(text)
    await pass()
  }
  expect(reloader.counts).toEqual({ ok: 1, refused: 2 })
  await pass()
  expect(reloader.counts).toEqual({ ok: 1, refused: 2 })
})

test('nothing is read again once it is closed', async () => {
  const { made, lines } = await scene()
  const reloader = made()
  reloader.close()
  await reloader.run('SIGHUP')
  expect(lines).toEqual([])
})

test('C41: a file that changes after it was first read, and before the reloader is made, is read again', async () => {
  const { made, write, pass } = await scene()
  write('good\n')
  const reloader = made()
  await pass()
  expect(reloader.counts).toEqual({ ok: 1, refused: 0 })
})
