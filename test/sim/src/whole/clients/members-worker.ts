// Driver: an operator who adds members, promotes them and removes others, again and again, over a store like
// anybody else's. Who was removed is switched off, or left alone: it may run on, and be added again.

import type { Station } from '../members/station.js'
import type { WholeWorld } from '../world.js'
import type { Client } from './crew.js'

/** Members at once; a simulated cluster has no names for more. */
const MOST = 7

export async function membersWorker(world: WholeWorld, client: Client): Promise<void> {
  const { desk, random } = client
  while (!desk.stopping && world.stations.length < MOST) {
    await client.sleep(random.between(200, 1_500))
    const station = comesBack(world, client) ?? world.addStation(true)
    world.say(`${station.id} is to be added`)
    station.boot()
    await insist(client, () => client.store.members.add(station.id, station.url, { timeout: 2_000 }))
    await insist(client, () => client.store.members.promote(station.id, { timeout: 2_000 }))
    world.say(`${station.id} is a voter`)
    const gone = random.pick(present(world).filter((one) => one !== station))
    if (random.chance(0.6)) await remove(client, gone)
    if (gone.leftAlone) world.say(`${gone.id} was removed and left alone`)
  }
}

const present = ({ stations }: WholeWorld): readonly Station[] =>
  stations.filter(({ retired, leftAlone }) => !retired && !leftAlone)

/** Removed, never switched off, and now added again, over what it has. */
function comesBack({ stations }: WholeWorld, { random }: Client): Station | undefined {
  const left = stations.filter(({ leftAlone }) => leftAlone)
  if (left.length === 0 || random.chance(0.5)) return undefined
  const station = random.pick(left)
  station.leftAlone = false
  return station
}

async function remove(client: Client, station: Station): Promise<void> {
  await insist(client, () => client.store.members.remove(station.id, { timeout: 2_000 }))
  if (client.random.chance(0.6)) station.retire()
  else station.leftAlone = true
}

/** M15: asked again after whatever came of it, it does nothing twice. */
async function insist(client: Client, run: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await run()
    } catch (error) {
      client.desk.fault(error)
    }
    await client.sleep(50)
  }
}
