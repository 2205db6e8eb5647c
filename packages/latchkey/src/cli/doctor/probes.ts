// Driver: the measurements of `latchkey doctor`: the disk, the limits of this system, host names, ports and
// certificates. Each measurement has a limited duration. The test file on the disk is deleted afterwards.

import { randomBytes, X509Certificate } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { open, rm, statfs } from 'node:fs/promises'
import { connect as connectTcp, isIP } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import type { Clock } from '@latchkey/base'
import type { CertificateFacts, DirFacts } from './collected-facts.js'

export interface Probes {
  disk(path: string): Promise<DirFacts>
  openFiles(): number | undefined
  lookup(host: string): Promise<readonly string[]>
  /** Resolves to undefined if a server accepts the connection, and otherwise to the reason. */
  dial(address: string, port: number): Promise<string | undefined>
  /** Resolves to the server's certificate, even if the certificate is expired or not trusted. */
  certificate(address: string, port: number, host: string): Promise<CertificateFacts | undefined>
}

const SYNCS = 16
/** In ms. A server that accepts no connection within this time counts as unreachable. */
const PATIENCE_MS = 3_000

export const realProbes = (clock: Clock): Probes => ({
  disk: (path) => diskFacts(path, clock),
  openFiles,
  lookup: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  dial: (address, port) => dial(address, port, clock),
  certificate: (address, port, host) => shownCertificate(address, port, host, clock),
})

async function diskFacts(path: string, clock: Clock): Promise<DirFacts> {
  let room = { freeBytes: 0, totalBytes: 0 }
  try {
    const { bavail, blocks, bsize } = await statfs(path)
    room = { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
    return { path, syncMillis: await syncTimes(path, clock), ...room }
  } catch (error) {
    // A full disk has no `error` here, because the doctor reports the missing space from `room`.
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return { path, syncMillis: [], ...room }
    return { path, syncMillis: [], ...room, error: (error as Error).message }
  }
}

/** The file's name contains `latchkey-doctor`, for a user who finds the file after a killed run. */
async function syncTimes(path: string, clock: Clock): Promise<number[]> {
  const name = join(path, `.latchkey-doctor-${randomBytes(6).toString('hex')}`)
  const file = await open(name, 'wx', 0o600)
  try {
    const bytes = Buffer.alloc(4096, 'x')
    const times: number[] = []
    for (let i = 0; i < SYNCS; i++) {
      const began = clock.now()
      await file.write(bytes)
      await file.datasync()
      times.push(clock.now() - began)
    }
    return times
  } finally {
    await file.close()
    await rm(name, { force: true })
  }
}

/**
 * Returns how many files this process may have open. On Linux, Node raises this limit at its start to the
 * most that the system allows.
 */
function openFiles(): number | undefined {
  try {
    const line = /^Max open files +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return line === undefined ? undefined : line === 'unlimited' ? Number.POSITIVE_INFINITY : Number(line)
  } catch {
    return undefined
  }
}

function dial(address: string, port: number, clock: Clock): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connectTcp({ host: address, port })
    const end = (why: string | undefined) => {
      timer.cancel()
      socket.destroy()
      resolve(why)
    }
    const timer = clock.after(PATIENCE_MS, () => end(`no answer within ${PATIENCE_MS / 1000} s`))
    socket.once('connect', () => end(undefined))
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message))
  })
}

/** Disconnects after the TLS handshake. The server may be no member, so the doctor sends no data. */
function shownCertificate(
  address: string,
  port: number,
  host: string,
  clock: Clock,
): Promise<CertificateFacts | undefined> {
  return new Promise((resolve) => {
    const socket = connectTls({
      host: address,
      port,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      rejectUnauthorized: false,
    })
    const end = (facts: CertificateFacts | undefined) => {
      timer.cancel()
      socket.destroy()
      resolve(facts)
    }
    const timer = clock.after(PATIENCE_MS, () => end(undefined))
    socket.once('error', () => end(undefined))
    socket.once('secureConnect', () => {
      const shown = socket.getPeerX509Certificate()
      end(shown === undefined ? undefined : certificateFacts(shown, `${host}:${port}`))
    })
  })
}

const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g
const MOST_CERTIFICATES = 16

export const certificatesIn = (pem: string, place: string): CertificateFacts[] =>
  (pem.match(PEM) ?? [])
    .slice(0, MOST_CERTIFICATES)
    .map((one) => certificateFacts(new X509Certificate(one), place))

const certificateFacts = (
  { subject, validFrom, validTo }: X509Certificate,
  place: string,
): CertificateFacts => ({
  place,
  name: (/^CN=(.+)$/m.exec(subject ?? '')?.[1] ?? (subject ?? '').replaceAll('\n', ', ')).slice(0, 100),
  from: Date.parse(validFrom),
  to: Date.parse(validTo),
})
