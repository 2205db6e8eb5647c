// A counter that three processes agree on. Start it in three terminals: node examples/replicated-counter.mjs a (then b, then c).
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { openRaft, splitRecords } from '@latchkey/raft'

const id = process.argv[2] ?? 'a'
const dir = process.env.COUNTER_DIR ?? `./counter-data/${id}`
const members = JSON.parse(
  process.env.COUNTER_MEMBERS ??
    '{"a":"ws://127.0.0.1:7101","b":"ws://127.0.0.1:7102","c":"ws://127.0.0.1:7103"}',
)
const encode = (value) => Buffer.from(JSON.stringify(value))

class Counter {
  state = { count: 0, applied: undefined }
  saved = undefined
  async open() {
    await mkdir(dir, { recursive: true })
    this.state = JSON.parse(await readFile(`${dir}/counter.json`, 'utf8').catch(() => '{"count":0}'))
    return (this.saved = this.state.applied)
  }
  apply(entries, membershipAt) {
    return entries.map(({ index, term, time, kind, data }) => {
      this.state.applied = { position: { index, term, time }, membership: membershipAt(index) }
      if (kind !== 'commands') return { index, answers: undefined }
      return { index, answers: splitRecords(data).map(([step]) => this.add(step)) }
    })
  }
  add = (step) => ({ bytes: encode((this.state.count += step)), fromTable: false })
  durable = () => this.saved?.position ?? { index: 0, term: 0, time: 0 }
  async flush() {
    const { applied } = this.state
    const file = await open(`${dir}/counter.new`, 'w')
    await file.writeFile(encode(this.state))
    await file.sync().then(() => file.close())
    await rename(`${dir}/counter.new`, `${dir}/counter.json`)
    this.saved = applied
  }
  nextDeadline() {}
  async snapshot() {
    const pieces = [encode(this.state.count)]
    return { state: this.state.applied, read: async () => pieces.pop(), close() {} }
  }
  async receive(applied) {
    let count = 0
    const write = async (chunk) => void (count = JSON.parse(Buffer.from(chunk)))
    return { write, install: () => ((this.state = { count, applied }), this.flush()), abort: async () => {} }
  }
  close = () => this.flush()
}

const counter = new Counter()
const raft = await openRaft({ id, dir, members, machine: counter })
const timer = setInterval(async () => {
  const answer = await raft.submit(Uint8Array.of(1)).then(Number, (error) => error.code)
  console.log(raft.replica.node.role, 'count', counter.state.count, 'my step:', answer)
}, 500)
process.once('SIGINT', async () => (clearInterval(timer), await raft.close()))
