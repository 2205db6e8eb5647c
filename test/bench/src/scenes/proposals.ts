// Driver: small proposals through three processes, with no state machine work: what the core, the log and the wire can do.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePorts } from '@latchkey/test-chaos/ports'

const MEMBER = fileURLToPath(new URL('../proposal-member.js', import.meta.url))

export interface Proposals {
  readonly perSecond: number
  readonly inFlight: number
  readonly errors: number
  /** Memory of the leader over time, MiB. */
  readonly rssMiB: readonly number[]
}

export async function proposals(inFlight: number, seconds: number, rounds = 1): Promise<Proposals> {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-bench-'))
  const ports = await freePorts(3)
  const ids = ['a', 'b', 'c']
  const members = Object.fromEntries(ids.map((id, i) => [id, `ws://127.0.0.1:${ports[i]}`]))
  const children = ids.map((id) => fork(MEMBER, [JSON.stringify({ id, dir: join(folder, id), members })]))
  try {
    await Promise.all(children.map((child) => once(child, 'message')))
    const leader = await findLeader(children)
    await ask(leader, { call: 'load', inFlight, seconds: 1 })
    const results: { committed: number; errors: number; rssMiB: number }[] = []
    for (let round = 0; round < rounds; round++)
      results.push(await ask(leader, { call: 'load', inFlight, seconds }))
    return {
      inFlight,
      perSecond: Math.round(results.reduce((sum, one) => sum + one.committed, 0) / (seconds * rounds)),
      errors: results.reduce((sum, one) => sum + one.errors, 0),
      rssMiB: results.map((one) => one.rssMiB),
    }
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
}

async function ask<Answer>(child: ChildProcess, question: object): Promise<Answer> {
  const answer = once(child, 'message')
  child.send(question)
  return (await answer)[0] as Answer
}

async function findLeader(children: readonly ChildProcess[]): Promise<ChildProcess> {
  for (;;) {
    for (const child of children) {
      const { role } = await ask<{ role: string }>(child, { call: 'role' })
      if (role === 'leader') return child
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
