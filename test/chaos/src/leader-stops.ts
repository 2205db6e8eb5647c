// Driver: rounds in which the leader's process stands still (SIGSTOP): what becomes of watched locks, and how
// long calls wait.

import { seededRandom } from '@latchkey/base'
import { connect, type Store } from '@latchkey/client'
import { Watchdog } from '@latchkey/lock'
import type { Cluster, Sidecar } from './cluster.js'
import { pause, until } from './until.js'

export interface LeaderStopsOptions {
  readonly rounds: number
  /** ms. */
  readonly stop?: number
  readonly lease?: number
  readonly locks?: number
  readonly seed?: number
  readonly tell?: (line: string) => void
}

/** ms. */
export interface Spread {
  readonly p50: number
  readonly p99: number
  readonly most: number
}

export interface LeaderStopsReport {
  readonly rounds: number
  /** Holds that were lost; each is taken anew before the next round. */
  readonly lost: number
  readonly errors: readonly string[]
  /** From the stop to the next leader's start. */
  readonly elections: Spread
  /** Of each round the put that waited longest, with default options, from its call. */
  readonly waits: Spread
  /** The same, from the next leader's start; negative is none. */
  readonly afterLeader: Spread
  /** The same of puts over HTTP at a member that follows: its embedded store asks for them. */
  readonly embeddedAfterLeader: Spread
}

/** When it was asked, and when answered. */
interface Span {
  readonly from: number
  readonly to: number
}

/** One put after the other, as long as it goes on. */
class Writer {
  readonly spans: Span[] = []
  readonly errors: string[] = []
  readonly #put: () => Promise<unknown>
  #going = true
  readonly #done: Promise<void>

  constructor(put: () => Promise<unknown>) {
    this.#put = put
    this.#done = this.#run()
  }

  async #run(): Promise<void> {
    while (this.#going) {
      const from = performance.now()
      try {
        await this.#put()
      } catch (error) {
        this.errors.push(String((error as { code?: string }).code ?? error))
      }
      this.spans.push({ from, to: performance.now() })
      await pause(10)
    }
  }

  async end(): Promise<void> {
    this.#going = false
    await this.#done
  }

  longest(since: number): Span {
    const spans = this.spans.filter(({ to }) => to > since)
    return spans.reduce((a, b) => (b.to - b.from > a.to - a.from ? b : a), { from: since, to: since })
  }
}

export async function leaderStops(cluster: Cluster, options: LeaderStopsOptions): Promise<LeaderStopsReport> {
  const { rounds, stop = 3_000, lease = 3_000, locks = 8, seed = 1, tell = () => {} } = options
  const random = seededRandom(seed)
  const store = await connect(cluster.urls)
  const holder = await connect(cluster.urls)
  const watched = new Watched(holder, lease, locks)
  const figures = {
    elections: [] as number[],
    waits: [] as number[],
    after: [] as number[],
    embedded: [] as number[],
  }
  const errors: string[] = []
  try {
    for (let round = 0; round < rounds; round++) {
      await watched.take(() => pause(random.between(0, lease / locks)))
      const leader = await cluster.leader()
      const others = cluster.members.filter((member) => member !== leader)
      const writer = new Writer(() => store.put('stops', String(round)))
      const embedded = new Writer(() => putAt(random.pick(others)))
      await pause(random.between(200, 1_000))
      const stopped = performance.now()
      leader.signal('SIGSTOP')
      const led = await nextLeader(others).finally(() => {
        setTimeout(() => leader.signal('SIGCONT'), Math.max(0, stopped + stop - performance.now()))
      })
      await pause(stopped + stop + 1_000 - performance.now())
      await Promise.all([writer.end(), embedded.end()])
      const longest = writer.longest(stopped)
      figures.elections.push(led - stopped)
      figures.waits.push(longest.to - longest.from)
      figures.after.push(longest.to - led)
      figures.embedded.push(embedded.longest(stopped).to - led)
      errors.push(...writer.errors, ...embedded.errors)
      const last = [figures.elections, figures.waits, figures.after, figures.embedded].map((list) =>
        Math.round(list.at(-1) as number),
      )
      tell(
        `stop ${round + 1}: leader after, longest put, after leader, embedded ${last.join(' ')} ms; lost ${watched.lost}`,
      )
      await cluster.ready()
    }
  } finally {
    watched.end()
    await holder.close()
    await store.close()
  }
  return {
    rounds,
    lost: watched.lost,
    errors,
    elections: spread(figures.elections),
    waits: spread(figures.waits),
    afterLeader: spread(figures.after),
    embeddedAfterLeader: spread(figures.embedded),
  }
}

/** Locks that one watchdog renews; what was lost is taken anew. */
class Watched {
  lost = 0
  readonly #watchdog = new Watchdog()
  readonly #locks

  constructor(store: Store, lease: number, count: number) {
    this.#watchdog.on('lost', () => this.lost++)
    this.#locks = Array.from({ length: count }, (_, i) =>
      store.getDistributedLock(`stops/${i}`, lease, this.#watchdog),
    )
  }

  async take(between: () => Promise<void>): Promise<void> {
    for (const lock of this.#locks) {
      if (lock.held) continue
      await lock.lock()
      await between()
    }
  }

  end(): void {
    this.#watchdog.close()
  }
}

async function nextLeader(others: readonly Sidecar[]): Promise<number> {
  return until('a leader among the others', async () => {
    const known = await Promise.all(others.map((member) => member.status()))
    return known.some((one) => one?.role === 'leader') ? performance.now() : undefined
  })
}

async function putAt(member: Sidecar): Promise<void> {
  const response = await fetch(`${member.http}/v1/kv/stops-embedded`, { method: 'PUT', body: 'x' })
  const text = await response.text()
  if (!response.ok) throw new Error(`HTTP ${response.status}: ${text}`)
}

function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (part: number) => Math.round(sorted[Math.ceil(part * sorted.length) - 1] ?? 0)
  return { p50: at(0.5), p99: at(0.99), most: at(1) }
}
