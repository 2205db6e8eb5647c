// Test: commands that were joined come back one by one, and data that is no list of commands is refused.

import { utf8 } from '@latchkey/base'
import { expect, test } from 'vitest'
import { frameRecord, splitRecords } from './entry-commands.js'

const commands = [utf8('one'), new Uint8Array(), utf8('three')]
const joined = Buffer.concat(commands.map(frameRecord))

test('joined commands come back unchanged and in order', () => {
  expect(splitRecords(joined).map((bytes) => Buffer.from(bytes).toString())).toEqual(['one', '', 'three'])
  expect(splitRecords(new Uint8Array())).toEqual([])
})

test('data that ends within a command is refused', () => {
  const whole = [0, 7, 11, joined.length]
  for (let length = 0; length <= joined.length; length++) {
    const split = () => splitRecords(joined.subarray(0, length))
    if (whole.includes(length)) expect(split).not.toThrow()
    else expect(split, `${length} bytes`).toThrow('a record')
  }
})
