// Driver: `latchkey demo` starts three members, and workers that take turns with one lock. Then the demo
// kills the leader, and the workers continue with the next leader.

import { type Command, flag, positiveNumber, words } from './command-description-and-parser.js'
import { loadDaemon } from './load-daemon-package.js'
import { Trio } from './demo-members.js'
import { EXIT, explain } from './exit-codes.js'
import type { CommandStore, Io } from './command-io-interface.js'
import { jsonLine, paint } from './print-values.js'
import { JSON_OPTION } from './store-connection-of-command.js'

const KEY = 'demo/printer'
const WORKERS = ['Ada', 'Ben', 'Cleo']
const LEASE = '3s'
/**
 * In ms. WORK_MS: the time for which a worker holds the lock. AWAY_MS: the time until the killed member
 * starts again.
 */
const WORK_MS = 250
const AWAY_MS = 4_000
/** In ms. At its planned end, the demo waits at most this long for the first grant after the kill. */
const PATIENCE_MS = 15_000

export const demo: Command = {
  name: 'demo',
  usage: '[--seconds N]',
  summary:
    'Run three members in one terminal: workers take turns with a lock, and the leader is killed once.',
  notes:
    'The command uses a temporary directory and free ports on loopback. It removes everything at the end.',
  options: {
    seconds: { type: 'string', value: 'N', help: 'end after this many seconds; by default, end with Ctrl-C' },
    ...JSON_OPTION,
  },
  examples: ['latchkey demo --seconds 15', 'latchkey demo --seconds 15 --json'],
  async run(line, io) {
    words(line, 0, 0)
    const seconds = positiveNumber(line, 'seconds')
    await loadDaemon(() => import('@latchkey/daemon'))
    const show = new Show(io, seconds === undefined ? undefined : seconds * 1000, flag(line, 'json'))
    return show.run()
  },
}

class Show {
  readonly #io: Io
  readonly #length: number | undefined
  /**
   * In ms. The planned time that is left after the start of the members. On a busy machine, the start can use
   * most of the time.
   */
  #left: number | undefined
  readonly #json: boolean
  readonly #over = new AbortController()
  #started = 0
  #grants = 0
  #firstToken = 0
  #lastToken = 0
  /**
   * How many grants had a fencing token that was not higher than the token before. Any number above zero is a
   * bug.
   */
  #stale = 0
  /** In ms, from the kill of the leader to the next grant. */
  #gap: number | undefined
  /**
   * The time at which the leader was killed. Undefined before the kill, and after the first grant by the next
   * leader.
   */
  #deadSince: number | undefined
  /** True after another member has become leader. */
  #succeeded = false
  /** True after the planned time, if the demo still waits for the first grant after the kill. */
  #ending = false

  constructor(io: Io, length: number | undefined, json: boolean) {
    this.#io = io
    this.#json = json
    this.#length = length
  }

  async run(): Promise<number> {
    this.#started = this.#io.clock.now()
    this.#say('starting three members in a temporary directory')
    const trio = await Trio.start(this.#io)
    const interrupt = () => this.#over.abort(this.#io.interrupted.reason)
    this.#io.interrupted.addEventListener('abort', interrupt, { once: true })
    try {
      await this.#play(trio)
    } finally {
      this.#io.interrupted.removeEventListener('abort', interrupt)
      await trio.stop()
      this.#summary()
    }
    this.#io.interrupted.throwIfAborted()
    return this.#grants > 0 && this.#stale === 0 ? EXIT.ok : EXIT.failure
  }

  #summary(): void {
    const tokens =
      this.#stale === 0
        ? 'each with a higher token than the one before'
        : `${this.#stale} of them with a token that was not higher`
    const gap = this.#gap === undefined ? '' : `; the first grant after the kill came ${this.#gap} ms later`
    this.#say(`${this.#grants} grants, ${tokens}${gap}; everything is cleaned up`, {
      grants: this.#grants,
      firstToken: this.#firstToken,
      lastToken: this.#lastToken,
      stale: this.#stale,
      gapMillis: this.#gap,
    })
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
    this.#left = Math.max(1_000, this.#started + this.#length - this.#io.clock.now())
    this.#io.clock.after(this.#left, () => this.#end(), { ref: false })
  }

  /**
   * If the leader was just killed, the demo first waits for the next grant. The time from kill to grant is
   * the result that the demo shows.
   */
  #end(): void {
    if (this.#deadSince === undefined) return this.#over.abort()
    this.#ending = true
    this.#io.clock.after(PATIENCE_MS, () => this.#over.abort(), { ref: false })
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
    if (token <= this.#lastToken) this.#stale++
    if (this.#grants === 1) this.#firstToken = token
    this.#lastToken = token
    // Before a new leader is known, this grant may still come from the killed leader. Such a grant does not
    // end the measured time.
    const dead = this.#succeeded ? this.#deadSince : undefined
    if (dead !== undefined) this.#deadSince = undefined
    if (dead !== undefined) this.#gap = Math.round(this.#io.clock.now() - dead)
    this.#say(`${name.padEnd(5)} holds the lock, token ${token}`, {
      holder: name,
      token,
      ...(dead === undefined ? {} : { gapMillis: this.#gap }),
    })
    if (this.#ending && dead !== undefined) this.#over.abort()
  }

  async #killLeader(trio: Trio, store: CommandStore): Promise<void> {
    await this.#pause(this.#left === undefined ? 4_000 : this.#left / 3)
    if (this.#over.signal.aborted) return
    const leader = await this.#presentLeader(store)
    if (leader === undefined) return
    this.#say(this.#paint('red', `the leader, ${leader}, is killed (SIGKILL)`), { killed: leader })
    this.#deadSince = this.#io.clock.now()
    this.#tellSuccessor(store, leader, this.#deadSince)
    trio.kill(leader)
    await this.#pause(AWAY_MS)
    if (this.#over.signal.aborted) return
    trio.run(leader)
    this.#say(`${leader} is started again and catches up`, { started: leader })
  }

  /** Waits for a leader if an election is under way. Returns undefined if the demo ends first. */
  async #presentLeader(store: CommandStore): Promise<string | undefined> {
    while (!this.#over.signal.aborted) {
      const { leader } = await store.status()
      if (leader !== undefined) return leader
      await this.#pause(100)
    }
    return undefined
  }

  #tellSuccessor(store: CommandStore, gone: string, since: number): void {
    const onLeader = ({ id }: { id: string | undefined }) => {
      if (id === undefined || id === gone) return
      store.off('leader', onLeader)
      this.#succeeded = true
      const millis = Math.round(this.#io.clock.now() - since)
      this.#say(this.#paint('green', `${id} leads now, ${millis} ms after the kill`), { leader: id, millis })
    }
    store.on('leader', onLeader)
  }

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

  #paint(colour: 'red' | 'green', text: string): string {
    return paint(this.#io.colours && !this.#json, colour, text)
  }

  #say(text: string, facts: object = {}): void {
    const seconds = ((this.#io.clock.now() - this.#started) / 1000).toFixed(2)
    this.#io.out(
      this.#json
        ? jsonLine({ seconds: Number(seconds), message: text, ...facts })
        : `${seconds.padStart(7)} s  ${text}\n`,
    )
  }
}
