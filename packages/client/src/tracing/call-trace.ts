// Rule: the trace of one call of a store, and what a span says at its end.

import { isLatchkeyError } from '@latchkey/protocol'
import type { CallMessage, Publication } from './diagnostics-channels.js'
import type { Attributes, Span } from './open-telemetry.js'

export class CallTrace {
  readonly traceparent: string | undefined
  readonly #span: Span | undefined
  readonly #publication: Publication<CallMessage> | undefined

  constructor(span: Span | undefined, publication: Publication<CallMessage> | undefined) {
    this.#span = span
    this.#publication = publication
    this.traceparent = span?.traceparent
  }

  end(address: string | undefined, error?: unknown): void {
    endSpan(this.#span, addressAttributes(address), error)
    if (this.#publication === undefined) return
    this.#publication.message.address = address
    this.#publication.end(error)
  }
}

export function endSpan(span: Span | undefined, attributes: Attributes, error?: unknown): void {
  if (error === undefined) return span?.end(attributes, undefined)
  const code = isLatchkeyError(error) ? error.code : undefined
  const more = code === undefined ? attributes : { ...attributes, 'db.response.status_code': code }
  span?.end(more, code ?? (error instanceof Error ? error.name : 'Error'), error)
}

/**
 * Returns the attributes of a member's address. The member in the process of an embedded store has no
 * address.
 */
export function addressAttributes(address: string | undefined): Attributes {
  if (address === undefined || !URL.canParse(address)) return {}
  const { hostname, port, protocol } = new URL(address)
  return {
    'server.address': hostname.replace(/^\[|\]$/g, ''),
    'server.port': port === '' ? (protocol === 'wss:' ? 443 : 80) : Number(port),
  }
}
