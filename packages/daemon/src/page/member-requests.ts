// Driver: sends all requests of the page to the member, with the user's access token.
//
// Law: the token stays in this browser tab. The page sends the token only to the member that serves the page,
// in a header and never in a URL.

import { after } from './browser-clock.js'

/** The member refused a request, or did not answer (status 0). */
export class Refusal extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const TOKEN_ITEM = 'latchkey.token'

export class Api {
  #token = sessionStorage.getItem(TOKEN_ITEM) ?? ''
  /** Called when the member begins to answer (true), or stops answering (false). */
  onReach: (answers: boolean) => void = () => {}
  #answers = true

  useToken(token: string): void {
    this.#token = token
    if (token === '') sessionStorage.removeItem(TOKEN_ITEM)
    else sessionStorage.setItem(TOKEN_ITEM, token)
  }

  get hasToken(): boolean {
    return this.#token !== ''
  }

  async get<T>(path: string): Promise<T> {
    return (await (await this.response(path)).json()) as T
  }

  async post<T>(path: string, body?: object): Promise<T | undefined> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await this.response(path, { method: 'POST', ...sent })
    return response.status === 204 ? undefined : ((await response.json()) as T)
  }

  async response(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers)
    if (this.#token !== '') headers.set('authorization', `Bearer ${this.#token}`)
    const signal = init.signal ?? AbortSignal.timeout(PATIENCE_MS)
    let response: Response
    try {
      response = await fetch(path, {
        ...init,
        headers,
        signal,
        credentials: 'same-origin',
        redirect: 'error',
      })
    } catch {
      if (init.signal?.aborted !== true) this.#reached(false)
      throw new Refusal(0, 'UNREACHABLE', 'This member does not answer.')
    }
    this.#reached(true)
    if (response.ok) return response
    const problem = (await response.json().catch(() => ({}))) as { code?: string; message?: string }
    throw new Refusal(
      response.status,
      problem.code ?? '',
      problem.message ?? `The member answered ${response.status}.`,
    )
  }

  #reached(answers: boolean): void {
    if (answers === this.#answers) return
    this.#answers = answers
    this.onReach(answers)
  }
}

/**
 * In ms. A request that is not answered within this time fails, for example while the cluster has no leader.
 */
const PATIENCE_MS = 15_000

interface StreamPorts {
  event(data: Record<string, unknown>): void
  /** Called when the watch has begun. `again` is true after an interruption. */
  opened?(again: boolean): void
  /** Called when the member refuses the watch for a reason that a retry does not change. */
  refused(why: Refusal): void
}

/**
 * In ms. A stream that is silent for longer is opened again. The member sends a heartbeat at least twice in
 * this time.
 */
const SILENCE_MS = 25_000
/**
 * In ms. The pause before a stream is opened again. After each failure the pause doubles, up to
 * MOST_PAUSE_MS.
 */
const FIRST_PAUSE_MS = 300
const MOST_PAUSE_MS = 3_000

/**
 * Receives server-sent events. This class uses fetch, because the browser's EventSource cannot send the token
 * in a header.
 *
 * Laws
 * - After an interruption, the stream continues after the last revision that the page has received.
 * - A stream that is silent for longer than two heartbeats is opened again, because a member that has lost
 *   its network cannot end the stream.
 */
export class Stream {
  readonly #api: Api
  readonly #path: string
  readonly #ports: StreamPorts
  readonly #stop = new AbortController()
  #id: string | undefined
  #pause = FIRST_PAUSE_MS

  constructor(api: Api, path: string, ports: StreamPorts) {
    this.#api = api
    this.#path = path
    this.#ports = ports
    void this.#run()
  }

  close(): void {
    this.#stop.abort()
  }

  async #run(): Promise<void> {
    for (let again = false; !this.#stop.signal.aborted; again = true) {
      try {
        await this.#once(again)
      } catch (error) {
        if (this.#stop.signal.aborted) return
        if (error instanceof Refusal && !this.#mayPass(error)) return this.#ports.refused(error)
      }
      await this.#rest()
    }
  }

  #mayPass({ status }: Refusal): boolean {
    // 410: the member no longer has the events after the revision `#id`, so the watch begins again with the
    // present state.
    if (status === 410) this.#id = undefined
    return status === 0 || status === 410 || status === 429 || status >= 500
  }

  #rest(): Promise<void> {
    const pause = this.#pause
    this.#pause = Math.min(pause * 2, MOST_PAUSE_MS)
    return new Promise((resolve) => {
      const cancel = after(pause, resolve)
      this.#stop.signal.addEventListener('abort', () => {
        cancel()
        resolve()
      })
    })
  }

  async #once(again: boolean): Promise<void> {
    const cut = new AbortController()
    const signal = AbortSignal.any([this.#stop.signal, cut.signal])
    const headers: Record<string, string> = this.#id === undefined ? {} : { 'last-event-id': this.#id }
    let silence = after(SILENCE_MS, () => cut.abort())
    try {
      const { body } = await this.#api.response(this.#path, { headers, signal })
      if (body === null) return
      this.#pause = FIRST_PAUSE_MS
      this.#ports.opened?.(again)
      const decoder = new TextDecoder()
      let text = ''
      const reader = body.getReader()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        silence()
        silence = after(SILENCE_MS, () => cut.abort())
        text = this.#events(text + decoder.decode(value, { stream: true }))
      }
    } finally {
      silence()
    }
  }

  /** Handles each complete event of the text. Returns the rest of the text, after the last complete event. */
  #events(text: string): string {
    const parts = text.split('\n\n')
    for (const part of parts.slice(0, -1)) this.#event(part)
    return parts.at(-1) ?? ''
  }

  #event(part: string): void {
    let data = ''
    let name = ''
    for (const line of part.split('\n')) {
      if (line.startsWith('data: ')) data = line.slice(6)
      if (line.startsWith('id: ')) this.#id = line.slice(4)
      if (line.startsWith('event: ')) name = line.slice(7)
    }
    if (data === '') return
    const read = JSON.parse(data) as Record<string, unknown>
    if (name !== 'error') return this.#ports.event(read)
    const refusal = new Refusal(Number(read['status'] ?? 503), String(read['code']), String(read['message']))
    if (read['code'] === 'ERR_COMPACTED') this.#id = undefined
    else if (read['code'] === 'ERR_FORBIDDEN' || read['code'] === 'ERR_UNAUTHORIZED') {
      this.#stop.abort()
      this.#ports.refused(refusal)
    }
  }
}
