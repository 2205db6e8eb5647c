// Driver: owns the registry of metrics and fills it when metrics are requested.
//
// Law: metrics are computed at most once in FRESH_MS, however often they are requested. Without this law: one
// caller sends a thousand requests at once, the leader computes metrics for seconds and sends no heartbeats,
// and another member takes over.

import type { Clock, RefusalCount } from '@latchkey/base'
import type { DiskUse, Status } from '@latchkey/protocol'
import { CONNECTION_HANDLERS, KNOWN_REFUSALS } from './known-labels.js'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** Metrics may be this old. */
export const FRESH_MS = 200

export interface MetricsPorts {
  readonly clock: Pick<Clock, 'now'>
  status(): Promise<Status>
  isReady(): boolean
  /** Further metrics by name, such as open connections. */
  figures(): Readonly<Record<string, number>>
  /** Connections that were closed because their handler failed, by kind of handler. */
  connectionErrors(): ReadonlyMap<string, number>
  /** Connections of the port, by kind. */
  connections(): Readonly<Record<string, number>>
  /** How often certificates and tokens were read again, by result. */
  reloads?(): Readonly<Record<string, number>>
  /** Refused requests, by route and reason. */
  refusals(): readonly RefusalCount[]
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** The help text of each figure of a member. A figure that is not in this table is not shown. */
const FIGURES: Readonly<Record<string, string>> = {
  client_connections: 'Open WebSocket connections of clients',
  unfinished_bytes: 'Bytes that were read of messages and bodies which are not whole yet',
  unread_bytes: 'Bytes that clients were told and have not read yet',
  served_clients: 'Clients that are served here, this process included',
  sessions: 'Sessions that are open in the store',
  revision: 'The revision of the last change applied here',
  log_entries: 'Entries in the log, those in a snapshot left out',
}

interface Figures {
  readonly type: string
  readonly text: string
}

export class Metrics {
  readonly #registry = new Registry()
  readonly #ports: MetricsPorts
  readonly #calls: Histogram<'route' | 'status'>
  readonly #connectionErrors: Counter<'where'>
  readonly #refused: Counter<'door' | 'reason'>
  readonly #reloads: Counter<'result'>
  #watching = false
  #made: Promise<Figures> | undefined
  #madeAt = 0

  constructor(ports: MetricsPorts) {
    this.#ports = ports
    const registers = [this.#registry]
    this.#calls = new Histogram({
      name: 'latchkey_http_request_duration_seconds',
      help: 'HTTP calls by route and status, and how long each took',
      labelNames: ['route', 'status'],
      buckets: SECONDS,
      registers,
    })
    this.#connectionErrors = new Counter({
      name: 'latchkey_connection_errors_total',
      help: 'Connections and calls that were ended by an error in their handler, by kind of handler',
      labelNames: ['where'],
      registers,
    })
    this.#reloads = new Counter({
      name: 'latchkey_reloads_total',
      help: 'How often certificates and tokens were read again, by result: ok or refused',
      labelNames: ['result'],
      registers,
    })
    this.#refused = new Counter({
      name: 'latchkey_refused_total',
      help: 'Connections, frames and calls that were refused, by door and reason',
      labelNames: ['door', 'reason'],
      registers,
    })
  }

  observe(route: string, status: number, millis: number): void {
    this.#calls.observe({ route, status: String(status) }, millis / 1000)
  }

  /** Requests that come while metrics are being computed, or a moment later, share the result. */
  collect(): Promise<Figures> {
    const now = this.#ports.clock.now()
    if (this.#made === undefined || now - this.#madeAt >= FRESH_MS) {
      this.#madeAt = Number.POSITIVE_INFINITY
      this.#made = this.#make().then(
        (figures) => {
          this.#madeAt = this.#ports.clock.now()
          return figures
        },
        (error: unknown) => {
          this.#made = undefined
          throw error
        },
      )
    }
    return this.#made
  }

  async #make(): Promise<Figures> {
    this.#watchNode()
    this.#set('latchkey_ready', 'Whether ready() would resolve', this.#ports.isReady() ? 1 : 0)
    const status = await this.#ports.status()
    for (const [name, help, value] of statusFigures(status)) this.#set(name, help, value)
    for (const [name, value] of Object.entries(this.#ports.figures())) {
      const help = FIGURES[name]
      if (help !== undefined) this.#set(`latchkey_${name}`, help, value)
    }
    this.#connectionErrors.reset()
    for (const where of CONNECTION_HANDLERS) this.#connectionErrors.inc({ where }, 0)
    for (const [where, count] of this.#ports.connectionErrors()) this.#connectionErrors.inc({ where }, count)
    this.#reloads.reset()
    for (const [result, count] of Object.entries(this.#ports.reloads?.() ?? {}))
      this.#reloads.inc({ result }, count)
    this.#refused.reset()
    for (const { door, reason, count } of [...KNOWN_REFUSALS, ...this.#ports.refusals()])
      this.#refused.inc({ door, reason }, count)
    const kinds = this.#gauge('latchkey_connections', 'Open connections of the port, by kind', ['kind'])
    for (const [kind, count] of Object.entries(this.#ports.connections())) kinds.set({ kind }, count)
    this.#members(status)
    return { type: this.#registry.contentType, text: await this.#registry.metrics() }
  }

  /**
   * Node measures how late the event loop is, from the first request on, by a timer of a hundred times a
   * second.
   */
  #watchNode(): void {
    if (this.#watching) return
    this.#watching = true
    collectDefaultMetrics({ register: this.#registry })
    // The measurement has no value before the second request, and always contains the interval of that timer.
    this.#registry.removeSingleMetric('nodejs_eventloop_lag_min_seconds')
  }

  #set(name: string, help: string, value: number): void {
    this.#gauge(name, help, []).set(value)
  }

  #gauge(name: string, help: string, labelNames: string[]): Gauge {
    const known = this.#registry.getSingleMetric(name)
    return known instanceof Gauge ? known : new Gauge({ name, help, labelNames, registers: [this.#registry] })
  }

  #members(status: Status): void {
    const lag = this.#gauge(
      'latchkey_member_lag_entries',
      'Entries that a member lacks, as the leader knows it',
      ['member'],
    )
    const alive = this.#gauge('latchkey_member_alive', 'Whether a member was heard of lately', ['member'])
    // The metrics of a member that was removed are deleted.
    lag.reset()
    alive.reset()
    for (const member of status.members) {
      if (member.lag !== undefined) lag.set({ member: member.id }, member.lag)
      if (member.alive !== undefined) alive.set({ member: member.id }, member.alive ? 1 : 0)
    }
  }
}

const diskFigures = ({ stateBytes, logBytes }: DiskUse): [name: string, help: string, value: number][] => [
  [
    'latchkey_state_disk_bytes',
    'Bytes of the state on the disk of this member, its history included',
    stateBytes,
  ],
  ['latchkey_log_disk_bytes', 'Bytes of the log on the disk of this member', logBytes],
]

function statusFigures(status: Status): [name: string, help: string, value: number][] {
  return [
    ['latchkey_leader', 'Whether this member leads', status.role === 'leader' ? 1 : 0],
    ['latchkey_has_leader', 'Whether this member knows a leader', status.leader === undefined ? 0 : 1],
    ['latchkey_term', 'The current term', status.term],
    ['latchkey_commit_index', 'The last entry known to be committed', status.commit],
    ['latchkey_applied_index', 'The last entry applied here', status.applied],
    [
      'latchkey_cluster_time_seconds',
      'Cluster time of the last entry applied here',
      status.clusterTime / 1000,
    ],
    ...(status.disk === undefined ? [] : diskFigures(status.disk)),
    ['latchkey_voters', 'Members that vote', status.members.filter(({ role }) => role === 'voter').length],
    [
      'latchkey_learners',
      'Members that learn',
      status.members.filter(({ role }) => role === 'learner').length,
    ],
  ]
}
