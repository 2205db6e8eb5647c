// Driver: small proposals through three processes, with no state machine work: what the core, the log and the
// wire can do.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePorts } from '@latchkey/test-chaos/ports'
import { pause } from '../pause.js'
import type { Loaded, Standing } from '../proposal-member.js'
import type { OwnScene, Stage } from './scene.js'

const MEMBER = fileURLToPath(new URL('../proposal-member.js', import.meta.url))
const IN_FLIGHT = 4_096

export const proposals: OwnScene = {
  name: 'proposals',
  about: 'small proposals through three processes without a state machine',
  on: 'own',
  run: (stage) => load(stage, 1, stage.seconds),
}

const SOAK_ROUNDS = 20
const SOAK_SECONDS = 30

export const soak: OwnScene = {
  name: 'soak',
  about: 'ten minutes of proposals: is memory flat? Only when asked for by name',
  on: 'own',
  run: (stage) => load(stage, SOAK_ROUNDS, stage.quick ? 1 : SOAK_SECONDS),
}

async function load(stage: Stage, rounds: number, seconds: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-bench-'))
  const children = await start(folder)
  try {
    await ask(await findLeader(children), { call: 'load', inFlight: IN_FLIGHT, seconds: stage.warmUpSeconds })
    const memory: number[] = []
    for (let round = 0; round < rounds; round++) {
      // Another one may lead by now: what it refused before is counted as failed.
      const leader = await findLeader(children)
      const figures = await ask<Loaded>(leader, { call: 'load', inFlight: IN_FLIGHT, seconds })
      memory.push(await mostMemory(children))
      const load = rounds === 1 ? 'proposals of 16 B' : `proposals of 16 B, after ${(round + 1) * seconds} s`
      stage.row({ system: 'Latchkey (raft alone)', load, callers: IN_FLIGHT, ...figures })
    }
    if (rounds > 1) tellMemory(stage, memory)
    await Promise.all(children.map((child) => closed(child)))
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Of the member that takes most. */
async function mostMemory(children: readonly ChildProcess[]): Promise<number> {
  const all = await Promise.all(children.map((child) => ask<Standing>(child, { call: 'role' })))
  return Math.max(...all.map(({ rssMiB }) => rssMiB))
}

/** The first quarter is growth to a working size; from there on it has to stay. */
function tellMemory(stage: Stage, memory: readonly number[]): void {
  const quarter = Math.floor(memory.length / 4)
  const most = (part: readonly number[]) => Math.max(...part)
  stage.fact(
    'soak.early',
    "a member's memory, most in the second quarter",
    most(memory.slice(quarter, 2 * quarter)),
    'MiB',
  )
  stage.fact('soak.late', "a member's memory, most in the last quarter", most(memory.slice(-quarter)), 'MiB')
}

async function start(folder: string): Promise<ChildProcess[]> {
  const ids = ['a', 'b', 'c']
  const ports = await freePorts(ids.length)
  const members = Object.fromEntries(ids.map((id, i) => [id, `ws://127.0.0.1:${ports[i]}`]))
  const children = ids.map((id) => fork(MEMBER, [JSON.stringify({ id, dir: join(folder, id), members })]))
  await Promise.all(children.map((child) => once(child, 'message')))
  return children
}

async function ask<Answer>(child: ChildProcess, question: object): Promise<Answer> {
  const answer = once(child, 'message')
  child.send(question)
  return (await answer)[0] as Answer
}

async function closed(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.send({ call: 'close' })
  await gone
}

async function findLeader(children: readonly ChildProcess[]): Promise<ChildProcess> {
  for (const deadline = performance.now() + 20_000; performance.now() < deadline; await pause(50)) {
    for (const child of children) {
      const { role } = await ask<Standing>(child, { call: 'role' })
      if (role === 'leader') return child
    }
  }
  throw new Error('no leader')
}
