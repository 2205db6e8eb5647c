// Driver: owns one real member (`latchkey start`) and attacks it from outside: hostile frames at the clients' door and at the members'
// door, as a first word and after a greeting, and hostile bytes where HTTP is expected.
//
// Laws
//   - The process lives, `/livez` answers, and a good client's put works, at every look.
//   - No error escapes from a handler: latchkey_connection_errors_total has no count.
//   - When all is over the member's memory is near what it was when it was warm.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect as tcp, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'
import { seededRandom } from '../../packages/base/dist/index.js'
import { connect } from '../../packages/client/dist/index.js'
import { encodeHello, encodeRequests, pack } from '../../packages/protocol/dist/index.js'
import { DECODERS } from './decoders.mjs'
import { mutated, noise } from './grammar.mjs'
import { Finding } from './in-process.mjs'
import { REQUESTS } from './samples.mjs'

const COMMAND = fileURLToPath(new URL('../../packages/latchkey/bin/latchkey.js', import.meta.url))
/** Attackers at once, and how much each says on one connection. */
const ATTACKERS = 8
const MOST_FRAMES = 40
const LOOK_EVERY = 400
/** So much may a member keep beyond what it had when it was warm: caches, and what the collector has not come to. */
const MOST_GROWTH_BYTES = 200 * 1024 * 1024
const ANSWER_MS = 20_000
const ENTRIES_BEFORE = 1_500

const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

class LiveMember {
  #dir = mkdtempSync(join(tmpdir(), 'latchkey-fuzz-'))
  #output = ''
  #process
  #store

  async start() {
    this.port = await freePort()
    const listen = `127.0.0.1:${this.port}`
    const flags = [
      '--id',
      'a',
      '--dir',
      join(this.#dir, 'a'),
      '--listen',
      listen,
      '--member',
      `a=ws://${listen}`,
    ]
    this.#process = spawn(process.execPath, [COMMAND, 'start', ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const keep = (data) => (this.#output = (this.#output + data).slice(-4_000))
    this.#process.stdout.on('data', keep)
    this.#process.stderr.on('data', keep)
    // A session's id is the index of its entry, and whoever may write may speak in any session of the same identity: so the good
    // client's is none of the small numbers that the attackers say.
    const first = await connect([`ws://${listen}`], { timeout: '30s' })
    for (let i = 0; i < ENTRIES_BEFORE; i++) await first.put('warm', '1', { timeout: '30s' })
    await first.close()
    this.#store = await connect([`ws://${listen}`], { timeout: '30s' })
    await this.#store.put('warm', '1', { timeout: '30s' })
  }

  get residentBytes() {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.#process.pid}/status`, 'utf8'))[1]) * 1024
  }

  /** What was said last, for a finding. */
  async look(said) {
    const failed = (why) =>
      new Finding('live member', said, `${why}\n  its last words: ${this.#output.slice(-1_500)}`)
    if (this.#process.exitCode !== null || this.#process.signalCode !== null)
      throw failed('the process has ended')
    try {
      const answer = await fetch(`http://127.0.0.1:${this.port}/livez`, {
        signal: AbortSignal.timeout(ANSWER_MS),
      })
      if (answer.status !== 200) throw failed(`/livez answered ${answer.status}`)
      await this.#store.put('good', 'client', { timeout: ANSWER_MS })
    } catch (error) {
      throw error instanceof Finding ? error : failed(`a good client is not served: ${error.message}`)
    }
    const metrics = await fetch(`http://127.0.0.1:${this.port}/metrics`).then((answer) => answer.text())
    const escaped = /^latchkey_connection_errors_total\{.*\} [1-9].*$/m.exec(metrics)
    if (escaped !== null) throw failed(`an error escaped from a handler: ${escaped[0]}`)
  }

  async stop() {
    await this.#store?.close().catch(() => {})
    if (this.#process !== undefined && this.#process.exitCode === null && this.#process.signalCode === null) {
      this.#process.kill('SIGKILL')
      await once(this.#process, 'exit')
    }
    rmSync(this.#dir, { recursive: true, force: true })
  }
}

// ---- the attacks: each resolves to what it said last

const samplesOf = (name) =>
  DECODERS.filter((decoder) => decoder.name.startsWith(name)).flatMap(({ samples, wrap }) =>
    samples.map((one) => [one, wrap]),
  )
const CLIENT_FRAMES = encodeRequests(REQUESTS).concat(REQUESTS.flatMap((one) => encodeRequests([one])))
const MEMBER_GREETINGS = samplesOf('members: greeting')
const HELLO = { cluster: 'latchkey', clusterId: undefined, token: undefined, least: 1, most: 1 }

/** After a good greeting, or instead of one. */
async function client(port, random, sent) {
  const socket = await opened(`ws://127.0.0.1:${port}/clients`)
  const greeted = random.chance(0.85)
  socket.send(greeted ? encodeHello(HELLO) : mutated(random, encodeHello(HELLO)))
  sent.count++
  let last = Buffer.alloc(0)
  for (let i = random.between(1, MOST_FRAMES); greeted && i > 0 && socket.readyState === socket.OPEN; i--) {
    last = random.chance(0.5)
      ? someRequests(random)
      : mutated(random, Buffer.from(random.pick(CLIENT_FRAMES)))
    socket.send(last)
    sent.count++
    if (i % 8 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await closed(socket)
  return last
}

/** A frame that is read, with one message of it that means harm: so that the connection stays. */
function someRequests(random) {
  const messages = Array.from({ length: random.between(1, 5) }, () => random.pick(REQUESTS))
  const session = random.pick([0, 1, 2, 2 ** 32, 2 ** 48 - 1])
  return encodeRequests(
    messages.map((one) =>
      one.kind === 'command'
        ? { ...one, session, number: random.between(0, 9), body: mutatedBody(random, one.body) }
        : one,
    ),
  )[0]
}
const mutatedBody = (random, body) => (random.chance(0.7) ? mutated(random, Buffer.from(body)) : body)

async function member(port, random, sent) {
  const socket = await opened(`ws://127.0.0.1:${port}/members`)
  let last = Buffer.alloc(0)
  for (let i = random.between(1, 4); i > 0 && socket.readyState === socket.OPEN; i--) {
    const [sample, wrap] = random.pick(MEMBER_GREETINGS)
    last = wrap(mutated(random, Buffer.from(sample)))
    socket.send(last)
    sent.count++
  }
  await closed(socket)
  return last
}

const HEADS = [
  'GET /livez HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n',
  'PUT /v1/kv/a HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 3\r\nlatchkey-guard: k;1\r\n\r\nabc',
  'POST /v1/locks/a:acquire HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 11\r\n\r\n{"id":"me"}',
  'GET /v1/kv/%61?timeout=1s&consistency=stale HTTP/1.1\r\nhost: 127.0.0.1\r\nif-none-match: "1"\r\n\r\n',
  'GET /clients HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\u0081\u0085',
]
async function http(port, random, sent) {
  const socket = tcp(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  const head = Buffer.from(random.pick(HEADS), 'latin1')
  const last = random.chance(0.8) ? mutated(random, head) : noise(random, 200)
  sent.count++
  socket.end(last)
  await Promise.race([
    once(socket, 'close').catch(() => {}),
    new Promise((resolve) => setTimeout(resolve, 300)),
  ])
  socket.destroy()
  return last
}

const opened = async (url) => {
  const socket = new WebSocket(url, { perMessageDeflate: false })
  socket.on('error', () => {})
  await Promise.race([once(socket, 'open').catch(() => {}), once(socket, 'close').catch(() => {})])
  return socket
}
const closed = async (socket) => {
  if (socket.readyState === socket.CLOSED) return
  // What was sent last is to be read before the goodbye.
  socket.close()
  await Promise.race([once(socket, 'close'), new Promise((resolve) => setTimeout(resolve, 500))])
  socket.terminate()
}

const ATTACKS = [client, client, member, http]

/** The frame that once ended every member, at every door. */
async function knownFrames(live) {
  const hostile = Buffer.from('9182a8746f537472696e6701a776616c75654f6601', 'hex')
  for (const path of ['/clients', '/members'])
    for (const frame of [hostile, Buffer.from(pack([1, [0, {}]]))]) {
      const socket = await opened(`ws://127.0.0.1:${live.port}${path}`)
      socket.send(frame)
      await closed(socket)
    }
  await live.look(hostile)
  // 16 MiB of empty lists: fifty times as much, were they ever in memory.
  const lists = Buffer.alloc(16 * 1024 * 1024 - 64, 0x90)
  lists.set([0xdd, ...lengthOf(lists.length - 5), 1])
  for (let i = 0; i < 4; i++) {
    const socket = await opened(`ws://127.0.0.1:${live.port}/clients`)
    socket.send(encodeHello(HELLO))
    socket.send(lists)
    await closed(socket)
  }
  await live.look(lists.subarray(0, 100))
}

const lengthOf = (length) => [length >>> 24, (length >>> 16) & 255, (length >>> 8) & 255, length & 255]

export async function fuzzLive({ seed, seconds }) {
  const live = new LiveMember()
  const sent = { count: 0 }
  try {
    await live.start()
    await knownFrames(live)
    const end = performance.now() + seconds * 1000
    let warm
    const attacker = async (name) => {
      const random = seededRandom(`${seed}/live/${name}`)
      for (let round = 1; performance.now() < end; round++) {
        const last = await random.pick(ATTACKS)(live.port, random, sent)
        if (name === 0 && round % LOOK_EVERY === 0) await live.look(last)
        if (name === 0 && round === LOOK_EVERY) warm = live.residentBytes
      }
    }
    await Promise.all(Array.from({ length: ATTACKERS }, (_, name) => attacker(name)))
    await live.look(Buffer.alloc(0))
    const grown = live.residentBytes - (warm ?? live.residentBytes)
    if (grown > MOST_GROWTH_BYTES)
      throw new Finding('live member', Buffer.alloc(0), `its memory grew by ${Math.round(grown / 1e6)} MB`)
    return { messages: sent.count, grownMegabytes: Math.round(grown / 1e6) }
  } finally {
    await live.stop()
  }
}
