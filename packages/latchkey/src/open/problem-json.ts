// Rule: makes the JSON body of each HTTP refusal (RFC 9457), also of a refusal for which no route was called.

import { STATUS_CODES } from 'node:http'

export const PROBLEM_TYPE = 'application/problem+json'

export const problemJson = (status: number, body: { readonly message?: unknown }): object => ({
  title: STATUS_CODES[status],
  status,
  detail: body.message,
  ...body,
})

/** A whole HTTP answer, for a connection for which Node has made no response object. */
export function refusalText(status: number, code: string, message: string): string {
  const body = problemJson(status, { code, message, retryable: false, outcome: 'not-applied' } as {
    message: string
  })
  const text = `${JSON.stringify(body)}\n`
  const head = `content-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(text)}`
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\nConnection: close\r\n\r\n${text}`
}
