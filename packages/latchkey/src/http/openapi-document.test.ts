// Test: the OpenAPI document says of each route what it needs, what it takes and with which statuses it answers.

import { expect, test } from 'vitest'
import { openApiDocument } from './openapi-document.js'
import { ROUTE_IDS, routeAt } from './route-table.js'

interface Operation {
  readonly operationId: string
  readonly description: string
  readonly security?: unknown[]
  readonly parameters: { readonly name: string; readonly in: string; readonly required?: boolean }[]
  readonly requestBody?: { readonly required: boolean; readonly content: Record<string, { schema?: object }> }
  readonly responses: Record<string, { readonly description: string; readonly content?: object }>
}

const document = openApiDocument('1.2.3') as {
  info: { version: string }
  paths: Record<string, Record<string, Operation>>
}
const operations = new Map(
  Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map((one) => [one.operationId, one] as const),
  ),
)
const of = (id: string) => operations.get(id) as Operation
const OF_ALL = ['400', '401', '403', '408', '413', '429', '503', '504']

test('each route is there once, with its path parameter', () => {
  expect(document.info.version).toBe('1.2.3')
  expect([...operations.keys()].toSorted()).toEqual([...ROUTE_IDS].toSorted())
  for (const id of ROUTE_IDS) {
    const inPath = of(id).parameters.filter((one) => one.in === 'path')
    const name = /\{([a-z]+)\}/.exec(routeAt(id).path)?.[1]
    expect(inPath, id).toEqual(
      name === undefined ? [] : [{ name, in: 'path', required: true, schema: { type: 'string' } }],
    )
  }
})

test('a route that needs no right needs no token, and has no statuses of a refusal', () => {
  expect(of('livez')).toMatchObject({ security: [], parameters: [] })
  expect(Object.keys(of('livez').responses)).toEqual(['200'])
  expect(of('getKey').security).toBeUndefined()
  expect(of('getKey').description).toMatch(/ Needs the right read\.$/)
  expect(of('identity').description).not.toContain('Needs')
})

test('statuses: 204 without an answer, and those of the route besides those of all routes', () => {
  expect(Object.keys(of('getKey').responses)).toEqual([
    '200',
    '304',
    '400',
    '401',
    '403',
    '404',
    ...OF_ALL.slice(3),
  ])
  expect(Object.keys(of('transferLeadership').responses)).toEqual(['204', ...OF_ALL, '409'].toSorted())
  const { responses } = of('putKey')
  expect(responses['412']?.content).toEqual({
    'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
  })
  expect(of('getKey').responses['304']?.content).toBeUndefined()
  const described = [...operations.values()].flatMap((one) => Object.values(one.responses))
  expect(described.filter(({ description }) => description === 'Refused.')).toEqual([])
  expect(of('watch').responses['200']).toMatchObject({
    description: 'Events, until one side ends.',
    content: { 'text/event-stream': {} },
  })
})

test('bodies and headers', () => {
  expect(of('putKey').requestBody?.content).toEqual({ 'application/octet-stream': {} })
  expect(
    of('putKey')
      .parameters.filter((one) => one.in === 'header')
      .map(({ name }) => name),
  ).toEqual(['If-Match', 'If-None-Match', 'Latchkey-Guard', 'Idempotency-Key'])
  expect(of('acquireLock').requestBody).toMatchObject({
    required: true,
    content: { 'application/json': { schema: { type: 'object', additionalProperties: false } } },
  })
  expect(of('openSession').requestBody?.required ?? false).toBe(false)
  expect(of('getKey').requestBody).toBeUndefined()
})
