// Types: the objects that all views of the page share.

import type { Api } from './member-requests.js'
import type { LockHistory } from './lock-history-collector.js'
import type { Person } from './signed-in-user-types.js'

export interface Member {
  readonly id: string
  readonly url: string
  readonly role: 'voter' | 'learner'
  readonly lag?: number
  readonly alive?: boolean
  readonly sinceMillis?: number
}

export interface Status {
  readonly id: string
  readonly role: string
  readonly leader?: string
  readonly term: number
  readonly applied: number
  readonly commit: number
  readonly clusterId: string
  readonly members: readonly Member[]
  readonly whyNoLeader?: string
  readonly disk?: { readonly freeBytes: number; readonly totalBytes: number; readonly stateBytes: number }
  readonly version: string
  readonly uptimeMillis: number
}

export interface Console {
  readonly api: Api
  readonly person: Person
  readonly history: LockHistory
  /** Shows the text in a line that a screen reader reads out immediately. */
  say(text: string): void
}

export interface View {
  readonly title: string
  readonly root: HTMLElement
  start(): void
  stop(): void
}
