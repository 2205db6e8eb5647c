// Driver: stores over a fake cluster, for tests.

import { type Random, seededRandom } from '@latchkey/base'
import { type As, decodeCommand, type LinkRequest } from '@latchkey/protocol'
import { ClientStore, type StoreOptions } from '../store/create-store.js'
import { FakeCluster } from './fake-cluster.js'
import { World } from './virtual-time.js'

interface Scene {
  readonly world: World
  readonly cluster: FakeCluster
  readonly random: Random
  readonly store: <S extends As = 'bytes'>(options?: Partial<StoreOptions> & { as?: S }) => ClientStore<S>
  /** Opens a store and waits for its first write, so that the store has a link and a session. */
  readonly warmStore: (options?: Partial<Omit<StoreOptions, 'as'>>) => Promise<ClientStore>
}

export function scene(seed: number | string = 1, urls: readonly string[] = ['a']): Scene {
  const world = new World()
  const random = seededRandom(seed)
  const cluster = new FakeCluster(world, random.fork('cluster'), urls)
  let ids = 0
  const store = <S extends As = 'bytes'>(options: Partial<StoreOptions> & { as?: S } = {}) =>
    new ClientStore<S>({
      route: { seeds: urls, dialTo: (url) => cluster.dialTo(url) },
      clock: world.clock(),
      random: random.fork(`store-${ids++}`),
      newId: () => `id-${ids++}`,
      ...options,
    })
  const warmStore = async (options: Partial<Omit<StoreOptions, 'as'>> = {}) => {
    const client = store<'bytes'>(options)
    const warm = follow(client.put('warm', '0'))
    await world.run(100)
    if (codeOf(warm) !== 'ok') throw new Error(`the first write of a store ended with ${codeOf(warm)}`)
    return client
  }
  return { world, cluster, random, store, warmStore }
}

export type Fate<T> =
  | { readonly is: 'pending' }
  | { readonly is: 'ok'; readonly value: T }
  | { readonly is: 'failed'; readonly error: Error & { code?: string; outcome?: string } }

/** Returns the state of a promise so far, and how often its caller got a result (C9). */
export function follow<T>(promise: Promise<T>): { fate: Fate<T>; told: number } {
  const seen: { fate: Fate<T>; told: number } = { fate: { is: 'pending' }, told: 0 }
  promise.then(
    (value) => {
      seen.fate = { is: 'ok', value }
      seen.told++
    },
    (error: Error) => {
      seen.fate = { is: 'failed', error }
      seen.told++
    },
  )
  return seen
}

export const codeOf = (seen: { fate: Fate<unknown> }): string | undefined =>
  seen.fate.is === 'failed' ? seen.fate.error.code : seen.fate.is

export const operationsOf = (requests: readonly LinkRequest[]) =>
  requests.flatMap((request) =>
    request.kind === 'command' ? [(decodeCommand(request.body) as readonly [number])[0]] : [],
  )
