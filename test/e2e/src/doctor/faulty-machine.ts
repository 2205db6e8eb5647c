// Driver: makes the machine of one process faulty, as its variables say. Processes load it with --import.
//
//   FAULTY_CLOCK=1.2       the monotonic clock runs at 1.2 times its rate
//   FAULTY_SYNC=150        each sync of a file takes 150 ms longer
//   FAULTY_SPACE=1000      so many bytes are free on every disk
//   FAULTY_VERSION=0.0.1   the manifest of latchkey names that version

import fs from 'node:fs'
import { open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { performance } from 'node:perf_hooks'

const { FAULTY_CLOCK, FAULTY_SYNC, FAULTY_SPACE, FAULTY_VERSION } = process.env

if (FAULTY_CLOCK !== undefined) {
  const real = performance.now.bind(performance)
  performance.now = () => real() * Number(FAULTY_CLOCK)
}

if (FAULTY_SYNC !== undefined) {
  const file = await open(import.meta.filename)
  const prototype = Object.getPrototypeOf(file) as typeof file
  await file.close()
  const real = prototype.datasync
  prototype.datasync = async function slow(this: typeof file) {
    await new Promise((resolve) => setTimeout(resolve, Number(FAULTY_SYNC)))
    return real.call(this)
  }
}

if (FAULTY_SPACE !== undefined) {
  const real = fs.promises.statfs
  const full = async (path: string) => {
    const found = await real(path)
    return { ...found, bavail: Math.floor(Number(FAULTY_SPACE) / found.bsize) }
  }
  Object.assign(fs.promises, { statfs: full })
}

if (FAULTY_VERSION !== undefined) {
  const real = fs.readFileSync
  const read = (path: string | URL, ...rest: unknown[]) => {
    const text = real(path, ...(rest as ['utf8']))
    if (!String(path).endsWith('/latchkey/package.json')) return text
    return JSON.stringify({ ...(JSON.parse(text) as object), version: FAULTY_VERSION })
  }
  Object.assign(fs, { readFileSync: read })
}

syncBuiltinESMExports()
