// Driver: connect(), which makes a remote store. A remote store sends its calls over a WebSocket to the
// leader, or to another member.

import { uptime } from 'node:os'
import { type Clock, newId, seededRandom, systemClock } from '@latchkey/base'
import { type As, LatchkeyError, isLatchkeyError } from '@latchkey/protocol'
import {
  type ConnectOptions,
  type ConnectSettings,
  type Credentials,
  checkConnect,
} from './connect-options.js'
import { OneCluster, type OneClusterPorts } from './wrong-cluster-check.js'
import { Tracing } from './tracing/tracing.js'
import { socketDial } from './websocket-link.js'
import { ConnectedStore, type RemoteStore } from './remote-store.js'
import type { ClientStore, StoreOptions } from './store/create-store.js'

/**
 * Connects to a cluster and returns a store. The call resolves at the first handshake with a member or a
 * sidecar. That member or sidecar tells the store the addresses of the other members.
 * ```ts
 * await using store = await connect(['ws://127.0.0.1:7001', 'ws://127.0.0.1:7002'], { token: '...' })
 * ```
 * Rejects with ERR_UNAUTHORIZED or ERR_WRONG_CLUSTER immediately. Rejects with ERR_NO_LEADER if no member is
 * reached within `timeout`.
 */
export async function connect<S extends As = 'bytes'>(
  urls: string | readonly string[],
  options?: ConnectOptions<S>,
): Promise<RemoteStore<S>> {
  const settings = checkConnect(urls, options)
  const clock = systemClock(uptime)
  const dial: ClientEnvironment['dial'] = (url, identity, { token, tls }) =>
    socketDial(url, { clock, cluster: settings.cluster, token, tls, identity })
  return connectIn<S>({ clock, dial }, settings)
}

/** The clock and the network of connect(). A test cluster passes its own clock and network. */
export interface ClientEnvironment {
  readonly clock: Clock
  readonly dial: (
    url: string,
    identity: Parameters<OneClusterPorts['dial']>[1],
    credentials: Credentials,
  ) => ReturnType<OneClusterPorts['dial']>
}

export async function connectIn<S extends As = 'bytes'>(
  world: ClientEnvironment,
  settings: ConnectSettings,
): Promise<ConnectedStore<S>> {
  if (settings.signal?.aborted) throw abortedBy(settings.signal)
  const store = makeStore<S>(settings, world)
  try {
    await firstHandshake(store, settings, world.clock)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

function makeStore<S extends As>(
  settings: ConnectSettings,
  { clock, dial }: ClientEnvironment,
): ConnectedStore<S> {
  const { seeds, cluster, clusterId, token, tls, as, onUndecodable, sessionLife, drift, logger } = settings
  const credentials = { token, tls }
  const members = new OneCluster({
    clock,
    logger,
    seeds,
    expected: clusterId,
    dial: (url, identity) => dial(url, identity, credentials),
  })
  const options: StoreOptions = {
    route: { seeds, dialTo: (url) => members.dialTo(url) },
    clock,
    random: seededRandom(newId()),
    newId,
    as,
    onUndecodable,
    sessionLife,
    drift,
    tracing: settings.tracing ? new Tracing(cluster, logger) : undefined,
    closeHook: async () => members.close(),
  }
  return new ConnectedStore<S>(options, credentials)
}

/**
 * Waits for the first handshake. Rejects immediately if the store fails with ERR_UNAUTHORIZED or
 * ERR_WRONG_CLUSTER. After any other error, the store dials again until the timeout.
 */
function firstHandshake(
  store: ClientStore<As>,
  { timeout, signal }: ConnectSettings,
  clock: Clock,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let last: unknown
    let foreign: LatchkeyError | undefined
    const end = (run: () => void) => {
      timer.cancel()
      signal?.removeEventListener('abort', abort)
      run()
    }
    const abort = () => end(() => reject(abortedBy(signal as AbortSignal)))
    const timer = clock.after(timeout, () =>
      end(() => reject(nobody(last, foreign, store.engine.unreached()))),
    )
    signal?.addEventListener('abort', abort, { once: true })
    const failed = (error: unknown) => {
      last = error
      if (error instanceof Error && isLatchkeyError(error.cause, 'ERR_WRONG_CLUSTER')) foreign = error.cause
      if (isLatchkeyError(error, 'ERR_UNAUTHORIZED') || isLatchkeyError(error, 'ERR_WRONG_CLUSTER'))
        end(() => reject(error))
    }
    store.engine.connected(() => end(resolve), failed)
  })
}

const abortedBy = (signal: AbortSignal) =>
  new LatchkeyError('ERR_ABORTED', undefined, { cause: signal.reason })

/**
 * Returns the error with which connect() rejects when it has reached no member before its timeout. `foreign`
 * is the last ERR_WRONG_CLUSTER of a given address. Undefined if no given address failed with this error.
 */
const nobody = (
  cause: unknown,
  foreign: LatchkeyError | undefined,
  reasons = 'Check the addresses, and that the members run.',
): LatchkeyError =>
  foreign ??
  (isLatchkeyError(cause, 'ERR_PROTOCOL')
    ? cause
    : new LatchkeyError('ERR_NO_LEADER', `No member could be reached in time. ${reasons}`, { cause }))
