// Driver: examines each member for `latchkey doctor`. This file first checks the member's host name, port and
// certificate, and then asks the member for its status twice over one connection.

import type { MemberConnection } from '@latchkey/client'
import { isLatchkeyError } from '@latchkey/protocol'
import type { ConnectOptions, Io } from '../command-io-interface.js'
import { explain } from '../exit-codes.js'
import type { AddressFacts, MemberFacts, Sample } from './collected-facts.js'
import type { Probes } from './probes.js'

interface Ports {
  readonly io: Pick<Io, 'clock' | 'connectToMember'>
  readonly probes: Probes
  readonly options: ConnectOptions
  /** In ms, between the two requests from which the doctor computes the rate of the member's clock. */
  readonly watchMillis: number
}

/**
 * The doctor examines at most this many addresses of one host name, and at most this many members that other
 * members list. Without these limits, a hostile name server or member could make the doctor's work endless.
 */
const MOST_ADDRESSES = 8
const MOST_MEMBERS = 64

interface ExaminedMember {
  readonly facts: MemberFacts
  readonly connection?: MemberConnection | undefined
}

/**
 * Examines the addresses that the user gave, and then the addresses of other members that the answers
 * contain.
 */
export async function examineMembers(endpoints: readonly string[], ports: Ports): Promise<MemberFacts[]> {
  const met = await Promise.all(endpoints.map((url) => examine(undefined, url, ports)))
  try {
    const others = [...listedMembers(met)]
      .filter(([, url]) => !endpoints.includes(url))
      .slice(0, MOST_MEMBERS)
    met.push(...(await Promise.all(others.map(([id, url]) => examine(id, url, ports)))))
    if (met.some(({ connection }) => connection !== undefined)) await pause(ports)
    const again = await Promise.all(met.map((one) => askAgain(one, ports.io)))
    return named(again.map(({ facts }) => facts))
  } finally {
    for (const { connection } of met) connection?.close()
  }
}

/**
 * Returns the addresses by id, from the status of the member that has applied the most entries. A status with
 * another cluster id than the first status does not count.
 */
function listedMembers(met: readonly ExaminedMember[]): Map<string, string> {
  const answered = met.flatMap(({ facts }) => facts.status ?? [])
  const own = answered.filter(({ clusterId }) => clusterId === answered[0]?.clusterId)
  const [newest] = own.sort((a, b) => b.applied - a.applied)
  const listed = (newest?.members ?? []).filter(({ url }) => url !== '')
  return new Map(listed.map(({ id, url }) => [id, url]))
}

/** Adds the member's id to an address that the user gave. */
function named(facts: readonly MemberFacts[]): MemberFacts[] {
  const idOf = new Map(facts.flatMap(({ status }) => status?.members ?? []).map(({ id, url }) => [url, id]))
  return facts.map((one) => ({ ...one, id: one.id ?? idOf.get(one.url) }))
}

async function examine(
  id: string | undefined,
  url: string,
  { io, probes, options }: Ports,
): Promise<ExaminedMember> {
  const { hostname, port, protocol } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const number = Number(port) || (protocol === 'wss:' ? 443 : 80)
  let found: readonly string[]
  try {
    found = (await probes.lookup(host)).slice(0, MOST_ADDRESSES)
  } catch (error) {
    return { facts: { id, url, lookupError: explain(error), addresses: [], samples: [] } }
  }
  const addresses = await Promise.all(
    found.map(async (address): Promise<AddressFacts> => {
      return { address: `${address}:${number}`, error: await probes.dial(address, number) }
    }),
  )
  const open = found.find((_, i) => addresses[i]?.error === undefined)
  if (open === undefined) return { facts: { id, url, addresses, samples: [] } }
  const certificate = protocol === 'wss:' ? await probes.certificate(open, number, host) : undefined
  const facts: MemberFacts = { id, url, addresses, certificate, samples: [] }
  try {
    // This connection accepts any cluster id, because the doctor compares the cluster ids later.
    const connection = await io.connectToMember(url, { ...options, clusterId: undefined })
    return await askAgain({ facts, connection }, io)
  } catch (error) {
    return { facts: { ...facts, error: faultOf(error) } }
  }
}

/**
 * Asks the member once more for its status. The result has the new status and one more sample, from which the
 * doctor computes the rate of the member's clock.
 */
async function askAgain(
  { facts, connection }: ExaminedMember,
  { clock }: Pick<Io, 'clock'>,
): Promise<ExaminedMember> {
  if (connection === undefined) return { facts }
  try {
    const sentAt = clock.now()
    const status = await connection.status()
    const sample: Sample = { sentAt, cameAt: clock.now(), uptimeMillis: status.uptimeMillis }
    return { facts: { ...facts, status, samples: [...facts.samples, sample] }, connection }
  } catch (error) {
    return { facts: { ...facts, error: faultOf(error) }, connection }
  }
}

const faultOf = (error: unknown): NonNullable<MemberFacts['error']> => ({
  code: isLatchkeyError(error) ? error.code : undefined,
  message: explain(error),
})

function pause({ io, options, watchMillis }: Ports): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      timer.cancel()
      options.signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = io.clock.after(watchMillis, end)
    options.signal?.addEventListener('abort', end)
    if (options.signal?.aborted === true) end()
  })
}
