// Door: open(), which opens a member in this process and returns its store.

import { uptime } from 'node:os'
import { RefusalLog, systemClock } from '@latchkey/base'
import { type As, isLatchkeyError, LatchkeyError } from '@latchkey/protocol'
import { refuseLocked } from '@latchkey/raft/wal'
import { withDisk } from './disk-errors.js'
import type { EmbeddedStore } from './embedded-store.js'
import { OpenedMember } from './open-member.js'
import { checkOptions, listenAt, type OpenOptions, type Settings } from './options.js'
import { listen, refuseUpgrade } from './http-and-websocket-server.js'

/**
 * Opens one member in this process. Without the option `members`, the cluster has this one member.
 * ```ts
 * await using store = await open({
 *   id: 'a',
 *   dir: './data/a',
 *   members: { a: 'ws://127.0.0.1:7001', b: 'ws://127.0.0.1:7002', c: 'ws://127.0.0.1:7003' },
 * })
 * await store.ready()
 * ```
 * Rejects with a TypeError that names the wrong option, or with a LatchkeyError whose message says what to do
 * next (ERR_DIR_LOCKED, ERR_WRONG_CLUSTER, ERR_CORRUPT, ERR_STORAGE_FAILED). The member opens its port before
 * it changes the disk. If another process uses the address, `open` fails with ERR_BUSY. If the address does
 * not belong to this machine, `open` fails with a TypeError. An open store keeps the process alive until
 * `close()`. The store installs no signal handler and never ends the process. The store writes warnings and
 * errors to the console, or to the option `logger`.
 */
export async function open<S extends As = 'bytes'>(options: OpenOptions<S>): Promise<EmbeddedStore<S>> {
  // The store decodes values as the option `as` says, and `S` is the type of that option.
  return (await openStore(options)) as EmbeddedStore<As> as EmbeddedStore<S>
}

async function openStore(options: OpenOptions<As>): Promise<EmbeddedStore<As>> {
  const settings = checkOptions(options)
  if (settings.signal?.aborted)
    throw new LatchkeyError('ERR_ABORTED', undefined, { cause: settings.signal.reason })
  if (settings.listen === undefined) return withoutAddress(settings, options)
  let member: OpenedMember | undefined
  const { tls, logger } = settings
  const clock = systemClock(uptime)
  const refusals = new RefusalLog({ clock, logger })
  const server = await listen(settings.listen, {
    tls,
    clock,
    refusals,
    upgrade: (...arrival) => {
      if (member === undefined) refuseUpgrade(arrival[1], '503 Service Unavailable', clock)
      else member.upgrade(...arrival)
    },
  }).catch((error: unknown) => refusePort(settings, error))
  try {
    member = await openIn(settings, refusals)
    member.serveAt(server)
    return member.store
  } catch (error) {
    await server.close()
    throw error
  }
}

/**
 * In ms. If another process has the port, this process waits at most this long to see whether that process
 * locks the directory. A starting process locks its directory within this time after it has opened its port.
 */
const START_MS = 500
/** In ms, between two tests of the lock. */
const LOOK_MS = 20

/**
 * If two processes start with the same options, the second process fails at the port. A moment later, the
 * first process has locked the directory. So this function waits for at most START_MS. When the directory is
 * locked, the function throws ERR_DIR_LOCKED, which names the cause. If the directory stays unlocked, the
 * function throws `error`.
 */
async function refusePort({ dir }: Settings, error: unknown): Promise<never> {
  if (dir === undefined || !isLatchkeyError(error, 'ERR_BUSY')) throw error
  const clock = systemClock(uptime)
  for (const end = clock.now() + START_MS; clock.now() < end; ) {
    await refuseLocked(dir)
    await new Promise<void>((done) => clock.after(LOOK_MS, done))
  }
  throw error
}

/**
 * Opens a member for which the user gave no address. A new cluster of one member has no port. After other
 * members were added, the log contains the member's address, and the member listens there.
 */
async function withoutAddress(settings: Settings, options: OpenOptions<As>): Promise<EmbeddedStore<As>> {
  const member = await openIn(settings)
  if (member.address === undefined || member.isAlone) return member.store
  try {
    const at = listenAt(member.address, options)
    member.serveAt(await listen(at, member.arrivals(settings.tls)))
    return member.store
  } catch (error) {
    await member.store.close()
    throw error
  }
}

/** Opens a member without a port. The sidecar has its own port. */
export async function openMember(options: OpenOptions<As>): Promise<OpenedMember> {
  return openIn(checkOptions(options))
}

const openIn = (settings: Settings, refusals?: RefusalLog): Promise<OpenedMember> =>
  withDisk(`The directory ${settings.dir} cannot be used`, () => OpenedMember.open(settings, refusals))
