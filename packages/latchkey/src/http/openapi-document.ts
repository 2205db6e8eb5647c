// Rule: makes the OpenAPI 3.1 document from the table of routes.

import { ERROR_CODES } from '@latchkey/protocol'
import { isStream, ROUTE_IDS, type Route, routeAt } from './route-table.js'
import type { Schema } from './route-schemas.js'

const PROBLEM: Schema = {
  type: 'object',
  properties: {
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: {
      type: 'string',
      description: `One of ${ERROR_CODES.join(', ')}, HELD, or a word such as NOT_FOUND.`,
    },
    message: { type: 'string', description: 'What went wrong, and what to do next.' },
    retryable: { type: 'boolean' },
    outcome: { type: 'string', enum: ['not-applied', 'unknown'] },
  },
  required: ['title', 'status', 'detail', 'code', 'message', 'retryable', 'outcome'],
}

const OF_ALL = [400, 401, 403, 408, 413, 429, 503, 504]
const MEANINGS: Readonly<Record<number, string>> = {
  304: 'The value is the one that If-None-Match names.',
  400: 'A mistake in path, query, headers or body.',
  401: 'No valid token.',
  403: 'A token without the right.',
  404: 'There is no such key, name or path.',
  408: 'The whole body did not arrive in time.',
  409: 'The lock is not held, is held by another, the stored value does not fit, or that member cannot lead.',
  412: 'The value is not the one that the condition asks for.',
  413: 'Too large.',
  429: 'Busy: try again later.',
  503: 'No leader, or not ready: try again later.',
  504: 'Timeout, or an unknown outcome.',
}

export function openApiDocument(version: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const id of ROUTE_IDS) {
    const route = routeAt(id)
    const path = (paths[route.path] ??= {})
    path[route.method.toLowerCase()] = operationOf(id, route)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Latchkey', version, description: 'Keys, locks, semaphores and elections of a member.' },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Problem: PROBLEM },
    },
  }
}

function operationOf(operationId: string, route: Route): object {
  const { right, summary, body } = route
  const needs = right === undefined || right === 'any' ? '' : ` Needs the right ${right}.`
  return {
    operationId,
    summary,
    description: `${summary}${needs}`,
    ...(right === undefined && { security: [] }),
    parameters: parametersOf(route),
    ...(body && { requestBody: { required: body.optional !== true, content: contentOf(body) } }),
    responses: responsesOf(route),
  }
}

function parametersOf({ path, query = {}, headers = [] }: Route): object[] {
  const name = /\{([a-z]+)\}/.exec(path)?.[1]
  const text = { type: 'string' }
  return [
    ...(name === undefined ? [] : [{ name, in: 'path', required: true, schema: text }]),
    ...Object.entries(query).map(([name, schema]) => ({ name, in: 'query', schema })),
    ...headers.map((name) => ({ name, in: 'header', schema: text })),
  ]
}

function contentOf({ fields, required = [] }: NonNullable<Route['body']>): object {
  if (fields === 'bytes') return { 'application/octet-stream': {} }
  const schema = { type: 'object', properties: fields, required, additionalProperties: false }
  return { 'application/json': { schema } }
}

function responsesOf(route: Route): object {
  const { answer, statuses = [], right } = route
  const good =
    answer === ''
      ? { 204: { description: 'Done.' } }
      : {
          200: {
            description: isStream(route) ? 'Events, until one side ends.' : 'Done.',
            content: answerOf(answer),
          },
        }
  const others = [...new Set([...statuses, ...(right === undefined ? [] : OF_ALL)])]
  const refusals = others.map((status) => [status, refusalOf(status)] as const)
  return { ...good, ...Object.fromEntries(refusals) }
}

const answerOf = (answer: Schema | string): object =>
  typeof answer === 'string' ? { [answer]: {} } : { 'application/json': { schema: answer } }

function refusalOf(status: number): object {
  const description = MEANINGS[status] ?? 'Refused.'
  if (status === 304) return { description }
  const schema = { $ref: '#/components/schemas/Problem' }
  return { description, content: { 'application/problem+json': { schema } } }
}
