// Driver: one member of the proposals' scene. The leader keeps so many small proposals in flight and counts what commits.

import { openRaft } from '@latchkey/raft'
import { NullMachine } from './null-machine.js'

interface Order {
  readonly id: string
  readonly dir: string
  readonly members: Record<string, string>
}

const { id, dir, members } = JSON.parse(process.argv[2] as string) as Order
const raft = await openRaft({ id, dir, members, machine: new NullMachine() })

async function load(
  inFlight: number,
  seconds: number,
): Promise<{ committed: number; errors: number; rssMiB: number }> {
  const end = performance.now() + seconds * 1000
  const command = new Uint8Array(16)
  let committed = 0
  let errors = 0
  const caller = async () => {
    while (performance.now() < end) {
      await raft.submit(command).then(
        () => committed++,
        () => errors++,
      )
    }
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
  return { committed, errors, rssMiB: Math.round(process.memoryUsage().rss / 1024 / 1024) }
}

process.on(
  'message',
  async (ask: { call: 'role' } | { call: 'load'; inFlight: number; seconds: number } | { call: 'close' }) => {
    if (ask.call === 'role')
      process.send?.({
        role: raft.replica.node.role,
        rssMiB: Math.round(process.memoryUsage().rss / 1024 / 1024),
      })
    else if (ask.call === 'load') process.send?.(await load(ask.inFlight, ask.seconds))
    else {
      await raft.close()
      process.exit(0)
    }
  },
)
process.send?.({ ready: true })
