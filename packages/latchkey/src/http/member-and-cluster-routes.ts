// Door: the routes about the member and its cluster: members, version, OpenAPI document and backup.

import { readFileSync } from 'node:fs'
import { backupPieces } from '@latchkey/client'
import { show } from '@latchkey/protocol'
import type { Call, Reply } from './http-route-dependencies.js'
import { objectOf } from './json-body.js'
import { openApiDocument } from './openapi-document.js'
import { callOptions } from './request-headers-and-query.js'

export const status = async (call: Call): Promise<Reply> => ({
  status: 200,
  body: await call.by.status(callOptions(call)),
})

export async function members(call: Call): Promise<Reply> {
  const { leader = null, members: all } = await call.by.status(callOptions(call))
  return { status: 200, body: { leader, members: all } }
}

export async function transferLeadership(call: Call): Promise<Reply> {
  const { to } = await objectOf(call)
  if (to !== undefined && typeof to !== 'string')
    throw new TypeError(`to must be the id of a member; got ${show(to)}`)
  await call.by.transferLeadership(to, callOptions(call))
  return { status: 204 }
}

const MANIFEST = new URL('../../package.json', import.meta.url)
let known: string | undefined

function versionOf(): string {
  known ??= (JSON.parse(readFileSync(MANIFEST, 'utf8')) as { version: string }).version
  return known
}

export const version = async (): Promise<Reply> => ({ status: 200, body: { version: versionOf() } })

export const openApi = async (): Promise<Reply> => ({ status: 200, body: openApiDocument(versionOf()) })

/**
 * The function waits for the first piece, so a caller without the admin right gets an error status and not a
 * broken file.
 */
export async function backup(call: Call): Promise<Reply> {
  const pieces = backupPieces(call.by.engine, call.signal)
  const first = await pieces.next()
  return {
    status: 200,
    headers: {
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename="latchkey.backup"',
    },
    stream: { pieces: joined(first, pieces), isEndless: false },
  }
}

async function* joined(
  first: IteratorResult<Uint8Array, undefined>,
  rest: AsyncGenerator<Uint8Array, undefined>,
): AsyncGenerator<Uint8Array, undefined> {
  if (first.done !== true) yield first.value
  yield* rest
  return undefined
}
