// Driver: before a system is measured it has to show, with two connections, that it does what is measured: a
// lock that a second caller cannot have, and a value that everybody sees once it was acknowledged.

import type { System, SystemClient } from './system.js'

const ROUNDS = 20

export async function checkSystem(system: System): Promise<string[]> {
  const first = await system.connect()
  const second = await system.connect()
  const faults: string[] = []
  try {
    if (first.take) await checkLocks(first, second, faults)
    if (first.put && first.get) await checkValues(first, second, faults)
    return faults
  } finally {
    await Promise.all([first.close(), second.close()])
  }
}

async function checkLocks(first: SystemClient, second: SystemClient, faults: string[]): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const [holder, other] = round % 2 === 0 ? [first, second] : [second, first]
    const release = await holder.take?.('check/lock')
    if (release === undefined) {
      faults.push('a free lock was refused')
      continue
    }
    if ((await other.take?.('check/lock')) !== undefined) faults.push('two callers held one lock')
    if (!(await release())) faults.push('a lock was lost while held')
  }
}

async function checkValues(first: SystemClient, second: SystemClient, faults: string[]): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const [writer, reader] = round % 2 === 0 ? [first, second] : [second, first]
    await writer.put?.('check/value', Buffer.from(String(round)))
    const seen = await reader.get?.('check/value')
    if (seen === undefined || Buffer.from(seen).toString() !== String(round))
      faults.push('a value that was acknowledged was not seen')
  }
}
