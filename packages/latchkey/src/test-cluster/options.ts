// Door: checks the options of testCluster(). A wrong option is a TypeError that names the option.

import { silentLogger } from '@latchkey/base'
import { type As, unknownName } from '@latchkey/protocol'
import { checkOptions, type OpenOptions, type Settings } from '../open/options.js'

/** The numbers of members that a test cluster may have, each with the ids of the members. */
export interface MemberIds {
  1: 'a'
  2: 'a' | 'b'
  3: 'a' | 'b' | 'c'
  4: 'a' | 'b' | 'c' | 'd'
  5: 'a' | 'b' | 'c' | 'd' | 'e'
  6: 'a' | 'b' | 'c' | 'd' | 'e' | 'f'
  7: 'a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g'
}

/**
 * The options of all members. The defaults are the same as in `open()`, except for two: the members log
 * nothing, and with a manual clock `heartbeat` is 250 ms.
 */
export type MemberOptions<S extends As = 'bytes'> = Pick<
  OpenOptions<S>,
  | 'as'
  | 'drift'
  | 'electionTimeout'
  | 'heartbeat'
  | 'logger'
  | 'maxInFlightBytes'
  | 'sessionLife'
  | 'snapshot'
>

export interface TestClusterOptions<Count extends keyof MemberIds = 3, S extends As = 'bytes'>
  extends MemberOptions<S> {
  /** How many members the cluster has, from 1 to 7. Default: 3, with the ids a, b and c. */
  members?: Count | undefined
  /**
   * 'real': time runs like the system's time. 'manual': time stands still until the test calls `advance`.
   * Default: 'real'.
   */
  clock?: 'real' | 'manual' | undefined
}

export interface TestSettings {
  readonly ids: readonly string[]
  readonly isManual: boolean
  /** The checked options of the member. */
  settingsOf(id: string): Settings
}

/**
 * In ms. A test that advances time by an hour waits for all heartbeats of that hour, so fewer heartbeats make
 * the test faster.
 */
const MANUAL_HEARTBEAT = 250
const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const OWN = ['members', 'clock']
const PASSED: Record<keyof MemberOptions, true> = {
  as: true,
  drift: true,
  electionTimeout: true,
  heartbeat: true,
  logger: true,
  maxInFlightBytes: true,
  sessionLife: true,
  snapshot: true,
}

export const urlOf = (id: string): string => `ws://127.0.0.1:${7001 + IDS.indexOf(id)}`

export function checkTestOptions(options: unknown): TestSettings {
  if (typeof options !== 'object' || options === null)
    throw new TypeError('testCluster: options must be an object')
  for (const name of Object.keys(options)) {
    if (!OWN.includes(name) && !Object.hasOwn(PASSED, name))
      throw unknownName('option', name, 'testCluster', [...OWN, ...Object.keys(PASSED)])
  }
  const { members = 3, clock = 'real', ...passed } = options as TestClusterOptions<keyof MemberIds>
  if (!Number.isInteger(members) || members < 1 || members > IDS.length)
    throw new TypeError(`members must be a whole number from 1 to ${IDS.length}`)
  if (clock !== 'real' && clock !== 'manual') throw new TypeError("clock must be 'real' or 'manual'")
  const ids = IDS.slice(0, members)
  const urls = Object.fromEntries(ids.map((id) => [id, urlOf(id)]))
  const defaults = {
    logger: silentLogger,
    ...(clock === 'manual' && passed.electionTimeout === undefined ? { heartbeat: MANUAL_HEARTBEAT } : {}),
  }
  const settingsOf = (id: string) => checkOptions({ ...defaults, ...passed, id, memory: true, members: urls })
  for (const id of ids) settingsOf(id)
  return { ids, isManual: clock === 'manual', settingsOf }
}
