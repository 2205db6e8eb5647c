// Driver: `latchkey demo`: three members, a lock that changes hands, a leader that dies, and the work that goes on.

import { type Command, positiveNumber, words } from './command.js'
import { Trio } from './demo-trio.js'
import { EXIT, explain } from './exit.js'
import type { CommandStore, Io } from './io.js'

const KEY = 'demo/printer'
const WORKERS = ['Ada', 'Ben', 'Cleo']
const LEASE = '3s'
/** How long a worker works under the lock, and how long the killed member stays away. */
const WORK_MS = 250
const AWAY_MS = 4_000

export const demo: Command = {
  name: 'demo',
  usage: '[--seconds N]',
  summary:
    'Three members in one terminal: a lock changes hands, the leader is killed once, the work goes on.',
  notes: 'It uses a temporary directory and free ports on loopback, and leaves nothing behind.',
  options: { seconds: { type: 'string', value: 'N', help: 'end after so many seconds; else with Ctrl-C' } },
  examples: ['latchkey demo --seconds 15'],
  async run(line, io) {
    words(line, 0, 0)
    const seconds = positiveNumber(line, 'seconds')
    const show = new Show(io, seconds === undefined ? undefined : seconds * 1000)
    return show.run()
  },
}

class Show {
  readonly #io: Io
  readonly #length: number | undefined
  readonly #over = new AbortController()
  #started = 0
  #grants = 0
  #highest = 0
  /** Every token was higher than the one before. */
  #inOrder = true

  constructor(io: Io, length: number | undefined) {
    this.#io = io
    this.#length = length
  }

  async run(): Promise<number> {
    this.#started = this.#io.clock.now()
    this.#say('starting three members on a temporary directory')
    const trio = await Trio.start(this.#io)
    const interrupt = () => this.#over.abort(this.#io.interrupted.reason)
    this.#io.interrupted.addEventListener('abort', interrupt, { once: true })
    try {
      await this.#play(trio)
    } finally {
      this.#io.interrupted.removeEventListener('abort', interrupt)
      await trio.stop()
      const tokens = this.#inOrder
        ? 'each with a higher token than the one before'
        : 'NOT each with a higher token than the one before'
      this.#say(`${this.#grants} grants, ${tokens}; everything is cleaned up`)
    }
    this.#io.interrupted.throwIfAborted()
    return this.#grants > 0 && this.#inOrder ? EXIT.ok : EXIT.failure
  }

  async #play(trio: Trio): Promise<void> {
    const store = await this.#io.connect(Object.values(trio.urls), {
      cluster: 'demo',
      timeout: '20s',
      signal: this.#over.signal,
    })
    try {
      await store.ready({ timeout: '20s', signal: this.#over.signal })
      const { leader } = await store.status()
      this.#say(`they have elected ${leader ?? 'nobody yet'}; ${WORKERS.join(', ')} want the same lock`)
      this.#endLater()
      await Promise.all([...WORKERS.map((name) => this.#worker(name, store)), this.#killLeader(trio, store)])
    } finally {
      await store.close()
    }
  }

  #endLater(): void {
    if (this.#length === undefined) return
    const left = this.#started + this.#length - this.#io.clock.now()
    this.#io.clock.after(Math.max(1_000, left), () => this.#over.abort(), { ref: false })
  }

  async #worker(name: string, store: CommandStore): Promise<void> {
    while (!this.#over.signal.aborted) {
      try {
        await this.#workOnce(name, store)
      } catch (error) {
        if (this.#over.signal.aborted) return
        this.#say(`${name}: ${explain(error)}`)
        await this.#pause(500)
      }
    }
  }

  async #workOnce(name: string, store: CommandStore): Promise<void> {
    const hold = await store.locks.acquire(KEY, { lease: LEASE, signal: this.#over.signal, context: name })
    try {
      this.#granted(name, hold.token)
      await hold.kv.put('demo/last', `${name} with token ${hold.token}`)
      await this.#pause(WORK_MS)
    } finally {
      await hold.release()
    }
  }

  #granted(name: string, token: number): void {
    this.#grants++
    this.#inOrder &&= token > this.#highest
    this.#highest = token
    this.#say(`${name.padEnd(5)} holds the lock, token ${token}`)
  }

  async #killLeader(trio: Trio, store: CommandStore): Promise<void> {
    await this.#pause(this.#length === undefined ? 4_000 : this.#length / 3)
    if (this.#over.signal.aborted) return
    const { leader } = await store.status()
    if (leader === undefined) return
    this.#say(`the leader, ${leader}, is killed (SIGKILL)`)
    this.#tellSuccessor(store, leader, this.#io.clock.now())
    trio.kill(leader)
    await this.#pause(AWAY_MS)
    if (this.#over.signal.aborted) return
    trio.run(leader)
    this.#say(`${leader} is started again and catches up`)
  }

  #tellSuccessor(store: CommandStore, gone: string, since: number): void {
    const told = ({ id }: { id: string | undefined }) => {
      if (id === undefined || id === gone) return
      store.off('leader', told)
      this.#say(`${id} leads now, ${Math.round(this.#io.clock.now() - since)} ms after the kill`)
    }
    store.on('leader', told)
  }

  /** Ends early when the show is over. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        timer.cancel()
        this.#over.signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = this.#io.clock.after(ms, end)
      this.#over.signal.addEventListener('abort', end)
      if (this.#over.signal.aborted) end()
    })
  }

  #say(text: string): void {
    const seconds = ((this.#io.clock.now() - this.#started) / 1000).toFixed(2).padStart(7)
    this.#io.out(`${seconds} s  ${text}\n`)
  }
}
