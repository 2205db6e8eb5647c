// Test: a member in memory with an HTTP port, for tests of routes.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect } from 'vitest'
import { type OpenedMember, openMember } from '../../open/index.js'
import type { AuthOptions } from '../../member/identity-and-rights.js'
import type { HttpPorts } from '../http-route-dependencies.js'
import { openApiDocument } from '../openapi-document.js'
import { HttpRequestHandler } from '../request-handler.js'
import { placeOf, routeOf } from '../route-of-path.js'

export interface HttpMember {
  readonly member: OpenedMember
  readonly requestHandler: HttpRequestHandler
  readonly url: string
  readonly port: number
  /** The errors that were bugs. A caller got status 500 for each of these errors. */
  readonly faults: unknown[]
  call(path: string, init?: RequestInit): Promise<Response>
  /** Makes a call with a JSON body, and resolves to the status and the JSON body of the answer. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Sent>
  close(): Promise<void>
}

interface Sent {
  readonly status: number
  readonly type: string | null
  readonly body: Record<string, unknown>
}

/** Starts the member. `change` replaces some of the ports that the routes use. */
export async function httpMember(
  auth?: AuthOptions,
  change: (member: OpenedMember) => Partial<HttpPorts> = () => ({}),
): Promise<HttpMember> {
  const options = { id: 'a', memory: true, electionTimeout: 100, heartbeat: 10 } as const
  const member = await openMember(auth === undefined ? options : { ...options, auth })
  await member.store.ready()
  const faults: unknown[] = []
  const requestHandler = new HttpRequestHandler({
    clock: member.clock,
    actAs: (who) => member.actAs(who),
    isReady: () => true,
    identify: (token, socket) => member.identify(token, socket),
    origins: new Set(),
    pageFile: (name) =>
      name === '' ? { type: 'text/html', bytes: Buffer.from('<p>page'), gzip: Buffer.from('') } : undefined,
    hosts: new Set(),
    metrics: async () => ({ type: 'text/plain', text: 'latchkey_up 1\n' }),
    failed: (error) => void faults.push(error),
    admitClient: () => true,
    bodies: member.unfinished,
    tracer: member.tracer,
    wrote: () => {},
    refused: () => {},
    observe: () => {},
    ...change(member),
  })
  const server = createServer((request, response) => void requestHandler.handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const call = (path: string, init?: RequestInit) => documentedCall(url, path, init)
  return {
    member,
    requestHandler,
    url,
    port,
    faults,
    call,
    async send(method, path, body, headers = {}) {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const response = await call(path, { method, headers, ...(body === undefined ? {} : { body: text }) })
      const answer = await response.text()
      return {
        status: response.status,
        type: response.headers.get('content-type'),
        body: answer === '' ? {} : (JSON.parse(answer) as Record<string, unknown>),
      }
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await member.store.close()
    },
  }
}

/**
 * Starts a member before the tests of a file, and closes the member after these tests. The returned object
 * gets its fields before the first test begins. The file fails if a route had a bug.
 */
export function httpMemberOfFile(...options: Parameters<typeof httpMember>): HttpMember {
  const http = {} as HttpMember
  beforeAll(async () => void Object.assign(http, await httpMember(...options)))
  afterAll(async () => {
    await http.close()
    expect(http.faults).toEqual([])
  })
  return http
}

const DOCUMENT = openApiDocument('0.0.0') as {
  paths: Record<string, Record<string, { responses: Record<number, unknown> }>>
}

async function documentedCall(url: string, path: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(url + path, init)
  const method = init?.method ?? 'GET'
  if (isDocumented(method, path, response.status)) return response
  throw new Error(`the OpenAPI document has no status ${response.status} of ${method} ${path}`)
}

/** Every status that a test sees must be in the OpenAPI document of its route. 500 is a bug of a route. */
function isDocumented(method: string, path: string, status: number): boolean {
  let place: ReturnType<typeof placeOf>
  try {
    place = placeOf(path.split('?', 1)[0] ?? '', method)
  } catch {
    return status === 400 || status === 413
  }
  const route = place && routeOf(place, method)
  if (route === undefined || status === 500) return true
  return DOCUMENT.paths[route.path]?.[method.toLowerCase()]?.responses[status] !== undefined
}

export interface HeardEvent {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly data: Record<string, unknown> | undefined
}

/** Parses the body of the answer as server-sent events. */
export async function* eventsOf(response: Response): AsyncGenerator<HeardEvent, undefined> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(piece, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      if (lines.every((line) => line.startsWith(':'))) continue
      const of = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = of('data')
      yield {
        id: of('id'),
        event: of('event'),
        data: data === undefined ? undefined : (JSON.parse(data) as Record<string, unknown>),
      }
    }
  }
  return undefined
}
