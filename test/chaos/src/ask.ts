// Driver: one HTTP request to a member, over TLS where it serves that. A member that does not answer is
// undefined.

import { request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

export interface AskOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly ca?: string
  readonly token?: string
  readonly timeout?: number
}

export function ask(url: string, options: AskOptions = {}): Promise<Answer | undefined> {
  const { method = 'GET', headers = {}, body, ca, token, timeout = 20_000 } = options
  const credentials = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const send = url.startsWith('https:') ? secureRequest : plainRequest
  return new Promise((resolve) => {
    const request = send(
      url,
      {
        method,
        headers: { ...credentials, ...headers },
        agent: false,
        signal: AbortSignal.timeout(timeout),
        ...(ca === undefined ? {} : { ca }),
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (text += chunk))
        response.on('error', () => resolve(undefined))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
        )
      },
    )
    request.on('error', () => resolve(undefined))
    request.end(body)
  })
}
