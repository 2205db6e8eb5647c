// Driver: one member of the proposals' scene. The leader keeps so many small proposals in flight and counts
// what commits.

import { openRaft } from '@latchkey/raft'
import { type Figures, measure } from './measure.js'
import { NullMachine } from './null-machine.js'
import { residentMiB } from './processes.js'

interface Order {
  readonly id: string
  readonly dir: string
  readonly members: Record<string, string>
}

type Ask =
  | { readonly call: 'role' | 'close' }
  | { readonly call: 'load'; readonly inFlight: number; readonly seconds: number }

export type Loaded = Omit<Figures, 'callers'>
export interface Standing {
  readonly role: string
  readonly rssMiB: number
}

const order = JSON.parse(process.argv[2] as string) as Order
const machine = new NullMachine()
const raft = await openRaft({ ...order, machine })
const COMMAND = new Uint8Array(16)

async function load(inFlight: number, seconds: number): Promise<Loaded> {
  const before = machine.count
  const call = async () => {
    await raft.submit(COMMAND)
    return true
  }
  const { callers: _, ...figures } = await measure(call, { callers: inFlight, seconds, warmUpSeconds: 0 })
  // What was acknowledged must have been applied.
  const lost = Math.max(0, figures.samples - (machine.count - before))
  return { ...figures, errors: figures.errors + lost }
}

const standing = (): Standing => ({ role: raft.replica.node.role, rssMiB: residentMiB(process.pid) })

async function answer(ask: Ask): Promise<void> {
  if (ask.call === 'role') process.send?.(standing())
  else if (ask.call === 'load') process.send?.(await load(ask.inFlight, ask.seconds))
  else {
    await raft.close()
    process.exit(0)
  }
}

process.on('message', (ask: Ask) => void answer(ask))
// Whoever started it is gone.
process.on('disconnect', () => process.exit(1))
process.send?.({ ready: true })
