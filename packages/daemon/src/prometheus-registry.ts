// Driver: the registry of metrics. A request for /metrics fills the registry.
//
// Law: the member computes its metrics at most once in FRESH_MS. Without this law: a caller sends a thousand
// requests, the leader computes metrics for seconds and sends no heartbeats, and another member becomes
// leader.

import type { Clock, RefusalCount } from '@latchkey/base'
import { type MemberFigures, memberMetrics, type Metric, type Status } from '@latchkey/protocol'
import { CONNECTION_HANDLERS, KNOWN_REFUSALS } from './counter-labels-shown-at-zero.js'
import { expositionOf } from './prometheus-text.js'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** In ms. Requests within this time get the metrics that were computed last. */
export const FRESH_MS = 200

interface MetricsPorts {
  readonly clock: Pick<Clock, 'now'>
  status(): Promise<Status>
  isReady(): boolean
  figures(): MemberFigures
  counters(status: Status): readonly Metric[]
  /**
   * Returns how many connections were closed because their handler failed. The keys are kinds of handlers.
   */
  connectionErrors(): ReadonlyMap<string, number>
  connections(): Readonly<Record<string, number>>
  /** Returns how often certificates and tokens were read again. The keys are the results: ok and refused. */
  reloads?(): Readonly<Record<string, number>>
  /**
   * Returns how many connections, frames and calls were refused. `door` is the part of the member that
   * refused.
   */
  refusals(): readonly RefusalCount[]
}

/**
 * In ms, about 25 days: the longest interval of a timer in Node. A timer with this interval hardly ever
 * fires.
 */
const NEVER_MS = 2 ** 31 - 1

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface MetricsText {
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
  #made: Promise<MetricsText> | undefined
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
      help: 'Connections, frames and calls that were refused, by the part of the member that refused them (door), and by reason',
      labelNames: ['door', 'reason'],
      registers,
    })
  }

  observe(route: string, status: number, millis: number): void {
    this.#calls.observe({ route, status: String(status) }, millis / 1000)
  }

  /** Requests that arrive while the metrics are computed get the same text. */
  collect(): Promise<MetricsText> {
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

  async #make(): Promise<MetricsText> {
    this.#watchNode()
    this.#set('latchkey_ready', 'Whether ready() would resolve', this.#ports.isReady() ? 1 : 0)
    const status = await this.#ports.status()
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
    const ports = this.#ports
    const ofMember = [...memberMetrics(status, ports.figures()), ...ports.counters(status)]
    return {
      type: this.#registry.contentType,
      text: `${expositionOf(ofMember)}\n${await this.#registry.metrics()}`,
    }
  }

  /**
   * Registers the metrics of the Node process, except the delay of the event loop.
   *
   * Law: a request for metrics leaves no timer running. To measure the delay of the event loop, prom-client
   * would run a timer a hundred times a second. Without this law: after one request, an idle member wakes up
   * three times as often. The member measures the delay without such a timer
   * (latchkey_event_loop_delay_seconds).
   */
  #watchNode(): void {
    if (this.#watching) return
    this.#watching = true
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: NEVER_MS })
    for (const { name } of this.#registry.getMetricsAsArray())
      if (name.startsWith('nodejs_eventloop_lag')) this.#registry.removeSingleMetric(name)
  }

  #set(name: string, help: string, value: number): void {
    this.#gauge(name, help, []).set(value)
  }

  #gauge(name: string, help: string, labelNames: string[]): Gauge {
    const known = this.#registry.getSingleMetric(name)
    return known instanceof Gauge ? known : new Gauge({ name, help, labelNames, registers: [this.#registry] })
  }
}
