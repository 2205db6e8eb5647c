// Driver: opens stores and members for tests. After each test, this file closes the stores, the last store
// first, and deletes the folder of the test.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import type { EmbeddedStore } from '../embedded-store.js'
import { open, openMember } from '../open.js'
import type { OpenedMember } from '../open-member.js'
import { checkOptions, type OpenOptions } from '../options.js'
import { listen } from '../http-and-websocket-server.js'

interface OpenedInTest {
  /** Returns a path in the folder of the test. */
  inFolder(name: string): string
  /** Opens a store. If the options name no election timeout, elections take a short time. */
  opening(options: OpenOptions): Promise<EmbeddedStore>
  /** Opens a member as a sidecar does, so that a test can use the member itself. */
  member(options: OpenOptions): Promise<OpenedMember>
  /** Returns the given store, and also closes it after the test. */
  later<S extends { close(): Promise<void> }>(store: S): S
}

const SHORT = { electionTimeout: 600, heartbeat: 50 } as const

/** Call this function once in a test file, outside of the tests. */
export function openedInTest(): OpenedInTest {
  const opened: { close(): Promise<void> }[] = []
  let root = ''
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'latchkey-open-'))
  })
  afterEach(async () => {
    for (const store of opened.splice(0).reverse()) await store.close().catch(() => {})
    await rm(root, { recursive: true, force: true })
  })
  const later = <S extends { close(): Promise<void> }>(store: S): S => {
    opened.push(store)
    return store
  }
  return {
    inFolder: (name) => join(root, name),
    later,
    opening: async (options) => later(await open({ ...SHORT, ...options })),
    async member(options) {
      const one = await openMember({ ...SHORT, ...options })
      later(one.store)
      const { listen: at, tls } = checkOptions(options)
      if (at !== undefined) one.serveAt(await listen(at, one.arrivals(tls)))
      return one
    },
  }
}

/** Resolves to the error with which the member stops. */
export const stopped = (opened: OpenedMember) =>
  Promise.race([
    opened.failed,
    new Promise<never>((_, reject) =>
      setTimeout(() => reject(new Error('it has not stopped')), 45_000).unref(),
    ),
  ])
