// Door: checks the options of testCluster(). A wrong option throws a TypeError that names the option.

import { silentLogger } from '@latchkey/base'
import { type As, unknownName } from '@latchkey/protocol'
import { checkOptions, type OpenOptions, type Settings } from '../open/options.js'

/** The allowed numbers of members, with the ids of the members for each number. */
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
 * The options of all members. The defaults are those of `open()`, with two exceptions. With a manual clock,
 * `heartbeat` is 250 ms. The members log nothing by default.
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
  /** The number of members, from 1 to 7. Default 3: a, b and c. */
  members?: Count | undefined
  /**
   * With 'real', the cluster uses the system's time. With 'manual', time stands still until the test advances
   * it. Default 'real'.
   */
  clock?: 'real' | 'manual' | undefined
}

export interface TestSettings {
  readonly ids: readonly string[]
  readonly isManual: boolean
  /** Returns the member's options, in the form in which open() has them after its checks. */
  settingsOf(id: string): Settings
}

/**
 * In ms. When a test advances time by an hour, the cluster runs all heartbeats of that hour. So rarer
 * heartbeats make the test faster.
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

/** Returns the address by which members and clients name this member. No real port is open at the address. */
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
