// Driver: `npm run chaos`: long campaigns against real processes.

import { parseArgs } from 'node:util'
import { Cluster } from './cluster.js'
import { crashRounds } from './crash-rounds.js'
import { leaderGaps, median } from './leader-gaps.js'
import { leaderStops } from './leader-stops.js'
import { strangers } from './strangers.js'

const HELP = `Usage: npm run chaos -- [--rounds 200] [--seed 1] [--writers 4] [--leaders 20] [--stops 20] [--strangers 5000] [--readers 20]

Kills members of a real cluster of three (SIGKILL: the leader, a follower, or all at once) and starts them again, under write
load, then accounts for every write: none that was acknowledged may be lost, none may be applied twice. Then kills the leader of
another cluster with default settings, --leaders times, and tells how long nobody was served. Then stops its leader's process for
3 s (SIGSTOP), --stops times, under eight watched locks of 3 s, and tells how many were lost and how long a put waited. Then
connects --strangers sockets that are silent, slow or half open, and --readers clients that never read, for 25 s, while a client works, and
tells what it met and how much memory each member took.

Exit code: 0 no fault, 1 faults found, 2 usage.`

function readArgs() {
  try {
    const { values } = parseArgs({
      options: {
        rounds: { type: 'string', default: '200' },
        seed: { type: 'string', default: '1' },
        writers: { type: 'string', default: '4' },
        leaders: { type: 'string', default: '20' },
        stops: { type: 'string', default: '20' },
        strangers: { type: 'string', default: '5000' },
        readers: { type: 'string', default: '20' },
        help: { type: 'boolean', short: 'h' },
      },
    })
    const numbers = {
      rounds: Number(values.rounds),
      seed: Number(values.seed),
      writers: Number(values.writers),
      leaders: Number(values.leaders),
      stops: Number(values.stops),
      strangers: Number(values.strangers),
      readers: Number(values.readers),
    }
    if (!Object.values(numbers).every((n) => Number.isSafeInteger(n) && n > 0))
      throw new Error('all values are positive whole numbers')
    return { ...numbers, help: values.help ?? false }
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${HELP}`)
    process.exit(2)
  }
}

const args = readArgs()
if (args.help) {
  console.log(HELP)
} else {
  const report = await crashRounds({ ...args, tell: (line) => console.log(line) })
  console.log(JSON.stringify({ ...report, faults: report.faults.length }, null, 2))
  for (const fault of report.faults.slice(0, 20)) console.error(fault)
  process.exitCode = report.faults.length === 0 ? 0 : 1
  const cluster = await Cluster.start()
  try {
    const gaps = await leaderGaps(cluster, args.leaders)
    console.log(`after kill -9 of the leader: median ${median(gaps)} ms, longest ${Math.max(...gaps)} ms`)
    const stops = await leaderStops(cluster, { rounds: args.stops, tell: (line) => console.log(line) })
    console.log(JSON.stringify(stops, null, 2))
    if (stops.lost > 0) process.exitCode = 1
    const sizes = { sockets: args.strangers, readers: args.readers, seconds: 25 }
    const met = await strangers(cluster, sizes)
    console.log(JSON.stringify({ ...met, failed: met.failed.slice(0, 20) }, null, 2))
    if (met.failed.length > 0 || met.leaderChanged) process.exitCode = 1
  } finally {
    await cluster.destroy()
  }
}
