// Driver: `node test/bench/dist/tracing-cost.js [PAIRS]`: what tracing costs a store, as processor time for each call. Embedded
// members in memory take turns in one process: one that is opened with tracing: false, and one where nobody
// listens. The first of each pair is drawn by its number. Then an SDK is registered that keeps its spans, as the upper end.
//
// What is measured holds the member too: the store and the member share the process.

import { silentLogger } from '@latchkey/base'
import { Tracing } from '@latchkey/client'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { open, type Store } from 'latchkey'

const CALLERS = 64
const WARM_UP = 4
const QUESTIONS = 5_000_000

interface Work {
  readonly name: string
  /** Of all callers at once, in each turn. */
  readonly rounds: number
  run(store: Store, caller: number): Promise<unknown>
}

const WORKS: readonly Work[] = [
  { name: 'put', rounds: 500, run: (store, caller) => store.put(`key ${caller}`, 'value') },
  { name: 'get', rounds: 800, run: (store, caller) => store.get(`key ${caller}`) },
  {
    name: 'withLock',
    rounds: 50,
    run: (store, caller) => store.locks.withLock(`lock ${caller}`, async () => {}),
  },
]

/** Microseconds of processor time for each call. */
async function turn(store: Store, work: Work): Promise<number> {
  const before = process.cpuUsage()
  for (let round = 0; round < work.rounds; round++)
    await Promise.all(Array.from({ length: CALLERS }, (_, caller) => work.run(store, caller)))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (work.rounds * CALLERS)
}

async function pairs(one: Store, other: Store, work: Work, amount: number): Promise<[number, number][]> {
  const found: [number, number][] = []
  for (let i = -WARM_UP; i < amount; i++) {
    const isOneFirst = i % 2 === 0
    const first = await turn(isOneFirst ? one : other, work)
    const second = await turn(isOneFirst ? other : one, work)
    if (i >= 0) found.push(isOneFirst ? [first, second] : [second, first])
  }
  return found
}

const sorted = (list: readonly number[]): number[] => [...list].sort((a, b) => a - b)
const at = (list: readonly number[], part: number): number =>
  sorted(list)[Math.floor((list.length - 1) * part)] ?? Number.NaN
const percent = (ratio: number): string => `${ratio >= 1 ? '+' : ''}${((ratio - 1) * 100).toFixed(1)} %`

function tell(what: string, work: Work, found: readonly [number, number][]): void {
  const ratios = found.map(([one, other]) => other / one)
  const medians = [0, 1].map((place) =>
    at(
      found.map((pair) => pair[place] as number),
      0.5,
    ).toFixed(2),
  )
  const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => percent(at(ratios, part)))
  console.log(
    `${what.padEnd(24)} ${work.name.padEnd(9)} ${medians.join(' -> ')} us a call; ratio ${middle} (half of the pairs: ${low} to ${high})`,
  )
}

/** Nanoseconds of the question that each call asks: does anybody listen? */
function question(): number {
  const tracing = new Tracing('latchkey', silentLogger)
  let listening = 0
  const before = process.cpuUsage()
  for (let i = 0; i < QUESTIONS; i++) if (tracing.followsCalls) listening++
  const { user, system } = process.cpuUsage(before)
  if (listening > 0)
    throw new Error('somebody listens in this process: nothing can be said of the unused case')
  return ((user + system) * 1_000) / QUESTIONS
}

const amount = Number(process.argv[2] ?? 30)
question()
console.log(`does anybody listen: ${question().toFixed(1)} ns a question`)
const openOne = async (tracing: boolean | undefined): Promise<Store> => {
  const store = await open({ id: 'a', memory: true, tracing })
  await store.ready()
  return store
}
const [off, alsoOff, unused] = await Promise.all([openOne(false), openOne(false), openOne(undefined)])
for (const work of WORKS) {
  tell('noise: off and off', work, await pairs(off, alsoOff, work, amount))
  tell('off and unused', work, await pairs(off, unused, work, amount))
}
const exporter = new InMemorySpanExporter()
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
)
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
for (const work of WORKS) {
  tell('off and all recorded', work, await pairs(off, unused, work, Math.ceil(amount / 5)))
  exporter.reset()
}
await Promise.all([off, alsoOff, unused].map((store) => store.close()))
