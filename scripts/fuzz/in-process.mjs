// Driver: hostile bytes through every decoder of this process, and hostile commands through two machines that must agree.
//
// Laws
//   - A decoder gives a value or one of its own refusals; nothing else is thrown.
//   - No call takes longer than 200 ms, whatever it is given. (One that does is called again: a machine may stand still.)
//   - What well-formed and malformed commands do to a machine is the same on another one, and no command throws.

import { seededRandom } from '../../packages/base/dist/index.js'
import { World } from '../../packages/kv/dist/testing/state-machine-with-own-log.js'
import { decodeCommand, encodeCommand, isBadCommand } from '../../packages/protocol/dist/index.js'
import { DECODERS } from './decoders.mjs'
import { mutated } from './grammar.mjs'
import { COMMANDS } from './samples.mjs'

export const MOST_MS = 200
/** Between two looks at the clock, and at what else waits for this process. */
const BATCH = 500

export class Finding extends Error {
  constructor(where, input, why) {
    super(`${where}: ${why}\n  input: ${Buffer.from(input).toString('hex').slice(0, 4_000)}`)
    Object.assign(this, { where, input, why })
  }
}

/** One input, whole as the decoder takes it; throws a Finding where a law is broken. */
export async function tryOne(decoder, bytes) {
  for (let tries = 1; ; tries++) {
    const started = performance.now()
    try {
      await decoder.run(bytes)
    } catch (error) {
      if (!decoder.refused(error)) throw new Finding(decoder.name, bytes, `threw ${describe(error)}`)
    }
    const took = performance.now() - started
    if (took <= MOST_MS) return
    if (tries === 3) throw new Finding(decoder.name, bytes, `took ${Math.round(took)} ms, three times`)
  }
}

const describe = (error) => {
  try {
    return error instanceof Error
      ? (error.stack ?? String(error)).split('\n').slice(0, 3).join(' | ')
      : typeof error
  } catch {
    return 'an error that cannot be described'
  }
}

/** Until the time is over; resolves to how many inputs each decoder had. */
export async function fuzzDecoders({ seed, seconds }) {
  const counts = Object.fromEntries(DECODERS.map(({ name }) => [name, 0]))
  const streams = DECODERS.map((decoder) => ({ decoder, random: seededRandom(`${seed}/${decoder.name}`) }))
  const end = performance.now() + seconds * 1000
  while (performance.now() < end) {
    for (const { decoder, random } of streams) {
      for (let i = 0; i < BATCH; i++) {
        const body = mutated(random, Buffer.from(random.pick(decoder.samples)))
        await tryOne(decoder, decoder.wrap(body))
      }
      counts[decoder.name] += BATCH
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  return counts
}

/** Commands as a door would let them through: well formed, or not, but none of a later version. */
function hostileCommand(random) {
  const body = mutated(random, Buffer.from(encodeCommand(random.pick(COMMANDS))))
  const command = decodeCommand(body)
  if (isBadCommand(command) && command.bad === 'unknown') return hostileCommand(random)
  return random.chance(0.2) ? Buffer.from(encodeCommand(random.pick(COMMANDS))) : body
}

export async function fuzzMachine({ seed, seconds }) {
  const random = seededRandom(`${seed}/machine`)
  const worlds = [await World.open(), await World.open()]
  const end = performance.now() + seconds * 1000
  let count = 0
  while (performance.now() < end) {
    const list = Array.from({ length: random.between(1, 8) }, () => ({
      session: random.chance(0.9) ? worlds[0].session : random.between(0, 2 ** 40),
      number: random.chance(0.9) ? ++count : random.between(0, 2 ** 40),
      done: random.chance(0.95) ? Math.max(0, count - 8) : random.between(0, count + 1),
      body: hostileCommand(random),
    }))
    for (const world of worlds) await applied(world, list)
    if (worlds[0].machine.revision !== worlds[1].machine.revision)
      throw new Finding(
        'machine',
        Buffer.concat(list.map(({ body }) => body)),
        'two machines differ in their revision',
      )
    // A session that a command closed is opened anew, as its client would.
    for (const world of worlds) world.session = await sessionOf(world)
    count += list.length
  }
  const [one, other] = worlds.map(({ machine }) => JSON.stringify(machine.stateHash()))
  if (one !== other) throw new Finding('machine', Buffer.alloc(0), `two machines differ: ${one} and ${other}`)
  for (const world of worlds) await world.machine.close()
  return count
}

async function applied(world, list) {
  try {
    world.time += 7
    await world.raw(list)
  } catch (error) {
    throw new Finding('machine', Buffer.concat(list.map(({ body }) => body)), `threw ${describe(error)}`)
  }
}

async function sessionOf(world) {
  const [answer] = await world.answers([
    { session: world.session, number: 0, done: 0, body: encodeCommand([2]) },
  ])
  return answer[0] === 0 ? world.session : await world.openSession()
}
