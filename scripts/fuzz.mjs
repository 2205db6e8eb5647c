// Driver: `npm run fuzz -- --seconds N --seed S`: hostile inputs against every decoder, the state machine and a live member. The same
// seed draws the same inputs. What fails is printed as hex; put it into scripts/fuzz/cases.json, and it is tried first in every run.

import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { DECODERS } from './fuzz/decoders.mjs'
import { Finding, fuzzDecoders, fuzzMachine, tryOne } from './fuzz/in-process.mjs'
import { fuzzLive } from './fuzz/live.mjs'

const USAGE = `Usage: npm run fuzz -- [--seconds N] [--seed S] [--only decoders,machine,live]

Sends hostile inputs, drawn from a seed, through every decoder in this process, as commands through two state machines, and to a real
member through /clients, /members and HTTP. Beforehand it tries every input that ever failed (scripts/fuzz/cases.json).

  --seconds N  for each of the three parts, 20 by default
  --seed S     1 by default
  --only A,B   these parts alone

Exit code: 0 nothing was found, 1 something was, 2 usage.`

const PARTS = { decoders: fuzzDecoders, machine: fuzzMachine, live: fuzzLive }
const options = read()

try {
  console.log(`seed ${options.seed}, ${options.seconds} s for each of ${options.parts.join(', ')}`)
  console.log(`${await knownCases()} inputs that failed once: refused now`)
  for (const part of options.parts) report(part, await PARTS[part](options))
} catch (error) {
  if (!(error instanceof Finding)) throw error
  console.error(`FOUND ${error.message}`)
  console.error(
    `Once it is understood, keep it: { "decoder": "${error.where}", "hex": "...", "why": "..." } in scripts/fuzz/cases.json`,
  )
  process.exitCode = 1
}

async function knownCases() {
  const cases = JSON.parse(readFileSync(new URL('fuzz/cases.json', import.meta.url), 'utf8'))
  for (const { decoder: name, hex } of cases) {
    const decoder = DECODERS.find((one) => one.name === name)
    if (decoder === undefined) throw new Error(`cases.json names a decoder that is not there: ${name}`)
    await tryOne(decoder, Buffer.from(hex, 'hex'))
  }
  return cases.length
}

function report(part, found) {
  if (part === 'machine') return console.log(`machine: ${found} commands, the same on two machines`)
  if (part === 'live')
    return console.log(`live: ${found.messages} messages, memory grew by ${found.grownMegabytes} MB`)
  const all = Object.values(found)
  const sum = all.reduce((total, count) => total + count, 0)
  console.log(`decoders: ${sum} inputs, ${Math.min(...all)} at least for each of ${all.length}`)
}

function read() {
  try {
    const { values } = parseArgs({
      options: {
        seconds: { type: 'string', default: '20' },
        seed: { type: 'string', default: '1' },
        only: { type: 'string', default: Object.keys(PARTS).join(',') },
        help: { type: 'boolean', short: 'h' },
      },
    })
    if (values.help) {
      console.log(USAGE)
      process.exit(0)
    }
    const parts = values.only.split(',')
    const unknown = parts.filter((part) => !Object.hasOwn(PARTS, part))
    if (unknown.length > 0)
      throw new Error(`no part is named ${unknown.join(', ')}: there are ${Object.keys(PARTS).join(', ')}`)
    const seconds = Number(values.seconds)
    if (!(seconds > 0 && seconds <= 86_400)) throw new Error('--seconds must be a number above 0')
    return { seconds, seed: values.seed, parts }
  } catch (error) {
    console.error(`fuzz: ${error.message}\n\n${USAGE}`)
    return process.exit(2)
  }
}
