// Driver: spans through the OpenTelemetry API that the user's process has registered.
//
// Laws
// - OB1: without a registered SDK, the API is not loaded, and a call allocates no object for tracing. Without
//   this law: every program pays for tracing, although few programs use it. An SDK is registered if the API's
//   global registry has a provider of traces. The registry is a symbol whose name is the same in all versions
//   1.x of the API.
// - OB4: an error of the SDK, of its sampler or of its processors changes no call. Without this law: a
//   processor throws at the end of a span, and the caller of a put waits for ever.

import { createRequire } from 'node:module'
import { type Logger, shortError } from '@latchkey/base'
import { toTraceIds, traceparentOf } from '@latchkey/protocol'
import type * as Api from '@opentelemetry/api'

const REGISTRY = Symbol.for('opentelemetry.js.api.1')
const PACKAGE = '@opentelemetry/api'
const SCOPE = 'latchkey'
export type Attributes = Readonly<Record<string, string | number | boolean | string[]>>

export interface SpanTerms {
  readonly name: string
  readonly kind: 'client' | 'server' | 'internal'
  readonly attributes: Attributes
  /**
   * The traceparent of the caller in another process. By default, the parent is the active span of this
   * process.
   */
  readonly parent?: string | undefined
}

/** The interface uses no type of the API, because users without the API do not have its types. */
export interface Span {
  /**
   * The traceparent of the span. Undefined if tracing is suppressed, so that the span belongs to no trace.
   */
  readonly traceparent: string | undefined
  rename(name: string): void
  run<T>(work: () => T): T
  end(attributes: Attributes, code: string | undefined, error?: unknown): void
}

const registered = (): object | undefined =>
  (globalThis as { [REGISTRY]?: { readonly trace?: object } })[REGISTRY]?.trace

type Loaded = { readonly api: typeof Api; readonly error?: never } | { readonly error: unknown }
let loaded: Loaded | undefined

/**
 * Loads the API with `require`, so that a call need not wait for an import. The program may load the API with
 * `import`, because both copies of the API use one global registry.
 */
function load(): Loaded {
  try {
    loaded ??= { api: createRequire(import.meta.url)(PACKAGE) as typeof Api }
  } catch (error) {
    loaded = { error }
  }
  return loaded
}

export function requireOpenTelemetry(): void {
  const { error } = load()
  if (error === undefined) return
  throw new TypeError(
    `tracing: true needs the package ${PACKAGE}, which cannot be loaded: ${shortError(error)}. Install the package, or leave the option out.`,
    { cause: error },
  )
}

export class OpenTelemetry {
  readonly #logger: Logger
  #provider: object | undefined
  #tracer: Api.Tracer | undefined
  #hasWarned = false

  constructor(logger: Logger) {
    this.#logger = logger
  }

  get isRegistered(): boolean {
    return registered() !== undefined
  }

  get isInSpan(): boolean {
    const api = this.#api()
    return api?.trace.getSpan(api.context.active()) !== undefined
  }

  /** Starts a span. Returns undefined if no SDK is registered, or if the span could not be started. */
  start(terms: SpanTerms): Span | undefined {
    const api = this.#api()
    if (api === undefined) return undefined
    try {
      const context = contextOf(api, terms.parent)
      const kind = api.SpanKind[KINDS[terms.kind]]
      const span = this.#currentTracer(api).startSpan(
        terms.name,
        { kind, attributes: terms.attributes },
        context,
      )
      return new ApiSpan(api, span, api.trace.setSpan(context, span), this.#failed)
    } catch (error) {
      this.#failed(error)
      return undefined
    }
  }

  #api(): typeof Api | undefined {
    if (registered() === undefined) return undefined
    const { api, error } = load() as Partial<{ api: typeof Api; error: unknown }>
    if (api === undefined) this.#warn(`${PACKAGE} cannot be loaded from here, so nothing is traced`, error)
    return api
  }

  #currentTracer(api: typeof Api): Api.Tracer {
    const provider = registered()
    if (this.#tracer === undefined || provider !== this.#provider) {
      this.#provider = provider
      this.#tracer = api.trace.getTracer(SCOPE)
    }
    return this.#tracer
  }

  readonly #failed = (error: unknown): void => {
    this.#warn('a span could not be started or ended: the OpenTelemetry SDK has failed', error)
  }

  #warn(message: string, error: unknown): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    this.#logger.warn(`${message}. Put it right, or give the option tracing: false.`, {
      reason: shortError(error),
    })
  }
}

const KINDS = { client: 'CLIENT', server: 'SERVER', internal: 'INTERNAL' } as const

function contextOf({ context, ROOT_CONTEXT, trace }: typeof Api, parent: string | undefined): Api.Context {
  const ids = toTraceIds(parent)
  if (ids === undefined) return context.active()
  const { traceId, spanId, flags } = ids
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: flags, isRemote: true })
}

class ApiSpan implements Span {
  readonly #api: typeof Api
  readonly #span: Api.Span
  readonly #context: Api.Context
  readonly #failed: (error: unknown) => void

  constructor(api: typeof Api, span: Api.Span, context: Api.Context, failed: (error: unknown) => void) {
    this.#api = api
    this.#span = span
    this.#context = context
    this.#failed = failed
  }

  get traceparent(): string | undefined {
    const context = this.#span.spanContext()
    if (!this.#api.isSpanContextValid(context)) return undefined
    return traceparentOf({ traceId: context.traceId, spanId: context.spanId, flags: context.traceFlags })
  }

  rename(name: string): void {
    this.#span.updateName(name)
  }

  run<T>(work: () => T): T {
    return this.#api.context.with(this.#context, work)
  }

  end(attributes: Attributes, code: string | undefined, error?: unknown): void {
    try {
      this.#span.setAttributes(attributes as Api.Attributes)
      if (code !== undefined) this.#fails(code, error)
      this.#span.end()
    } catch (failure) {
      this.#failed(failure)
    }
  }

  #fails(code: string, error: unknown): void {
    const message = error instanceof Error ? error.message : code
    this.#span.setAttribute('error.type', code)
    if (error instanceof Error) this.#span.recordException(error)
    this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message })
  }
}
