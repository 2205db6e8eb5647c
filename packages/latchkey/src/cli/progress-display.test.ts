// Test: progress is one changing line on a terminal and a few lines elsewhere, and a short task shows no
// progress.

import type { Clock } from '@latchkey/base'
import { expect, test } from 'vitest'
import { Progress } from './progress-display.js'

function setup(errIsTerminal: boolean) {
  let now = 0
  let printed = ''
  const timers: { at: number; run: () => void }[] = []
  const clock = {
    now: () => now,
    after(ms: number, run: () => void) {
      const timer = { at: now + ms, run }
      timers.push(timer)
      return { cancel: () => void timers.splice(timers.indexOf(timer), 1) }
    },
  } as unknown as Clock
  const pass = (ms: number) => {
    for (const end = now + ms; now < end; now += 100) {
      for (const timer of timers.filter(({ at }) => at <= now)) {
        timers.splice(timers.indexOf(timer), 1)
        timer.run()
      }
    }
  }
  const progress = new Progress({ clock, errIsTerminal, err: (text) => (printed += text) })
  return { progress, pass, printed: () => printed }
}

test('elsewhere: nothing for three seconds, then a line every five', async () => {
  const { progress, pass, printed } = setup(false)
  let end: () => void = () => {}
  const done = progress.during(
    () => `${progress.seconds} s`,
    () => new Promise<void>((resolve) => (end = resolve)),
  )
  pass(1_000)
  expect(printed()).toBe('')
  pass(11_000)
  end()
  await done
  expect(printed().split('\n')).toHaveLength(3)
  expect(printed()).toMatch(/^latchkey: 3 s\nlatchkey: 8 s\n/)
})

test('on a terminal: one line that changes, and is gone at the end, however it ends', async () => {
  const { progress, pass, printed } = setup(true)
  const failing = progress.during(
    () => 'working',
    async () => {
      pass(600)
      throw new Error('no')
    },
  )
  await expect(failing).rejects.toThrow('no')
  expect(printed()).toBe('\r\u001b[Kworking\r\u001b[Kworking\r\u001b[K')
})
