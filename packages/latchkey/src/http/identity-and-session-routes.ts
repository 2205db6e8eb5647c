// Door: the route that shows the caller's identity, and the routes that list and end sessions.

import { show } from '@latchkey/protocol'
import type { Identity } from '../member/identity-and-rights.js'
import { keyJson } from './http-status-of-errors.js'
import type { Call, Reply } from './http-route-dependencies.js'
import { callOptions } from './request-headers-and-query.js'

export async function identity({ who }: Call): Promise<Reply> {
  const { name, rights, keys, locks } = who as Identity
  return { status: 200, body: { name, rights, keys: prefixesJson(keys), locks: prefixesJson(locks) } }
}

const prefixesJson = (prefixes: readonly Uint8Array[] | undefined) =>
  prefixes?.map((prefix) => keyJson(prefix, 'prefix'))

export async function listSessions(call: Call): Promise<Reply> {
  return { status: 200, body: { sessions: await call.by.sessions.list(callOptions(call)) } }
}

export async function endSession(call: Call, name: Uint8Array): Promise<Reply> {
  const text = Buffer.from(name).toString()
  const id = Number(text)
  if (!/^[1-9][0-9]*$/.test(text) || !Number.isSafeInteger(id))
    throw new TypeError(`A session has a number, as GET /v1/sessions lists it; got ${show(text)}`)
  return { status: 200, body: { ended: await call.by.sessions.end(id, callOptions(call)) } }
}
