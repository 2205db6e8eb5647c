// Driver: the view of the sessions of all clients, for users with the admin right.

import type { Console, View } from './shared-view-types.js'
import { el, setText } from './html-elements.js'
import { ask, whyOf } from './confirm-dialog.js'
import { Table } from './keyed-html-table.js'
import { duration, visible, whole } from './key-and-number-formatting.js'
import { every, now, Refresher } from './browser-clock.js'

interface Session {
  readonly id: number
  readonly openedBy: string
  readonly idleMillis: number
  readonly remainingMillis: number
  readonly holds: number
  readonly waiters: number
  readonly at: number
}

const READ_MS = 3_000
/**
 * How many sessions the view shows. A cluster may have ten thousand sessions. Sessions with holds or waits
 * come first.
 */
const ROWS = 200

export class Sessions implements View {
  readonly title = 'Sessions'
  readonly root = el('div', { class: 'view' })
  readonly #console: Console
  readonly #table: Table<Session>
  readonly #problem = el('p', { class: 'refused', role: 'alert', hidden: true })
  readonly #sum = el('p', { class: 'note', role: 'status' })
  #reader = new Refresher(() => this.#read())
  #ends: (() => void)[] = []

  constructor(console: Console) {
    this.#console = console
    this.#table = new Table('Open sessions', this.#columns(), ({ id }) => String(id), 'No session is open.')
    this.root.append(
      el('p', { class: 'note' }, 'A store opens a session at its first write, lock or wait.'),
      this.#problem,
      this.#sum,
      this.#table.root,
    )
  }

  #columns() {
    return [
      { head: 'Session', text: ({ id }: Session) => String(id) },
      { head: 'Opened by', kind: 'wide', text: ({ openedBy }: Session) => visible(openedBy) || '–' },
      { head: 'Holds', kind: 'number', text: ({ holds }: Session) => whole(holds) },
      { head: 'Waits', kind: 'number', text: ({ waiters }: Session) => whole(waiters) },
      {
        head: 'Silent for',
        kind: 'number',
        text: ({ idleMillis, at }: Session) => duration(idleMillis + now() - at),
      },
      {
        head: 'Ends in',
        kind: 'number',
        text: ({ remainingMillis, at }: Session) => duration(remainingMillis - now() + at),
      },
      {
        head: 'Actions',
        kind: 'action',
        text: () => 'End…',
        press: (session: Session) => this.#end(session),
      },
    ]
  }

  start(): void {
    this.#reader = new Refresher(() => this.#read())
    void this.#reader.now()
    this.#ends = [every(READ_MS, () => this.#reader.soon()), () => this.#reader.stop()]
  }

  stop(): void {
    for (const end of this.#ends) end()
  }

  async #read(): Promise<void> {
    try {
      const { sessions } = await this.#console.api.get<{ sessions: Session[] }>('/v1/sessions')
      const at = now()
      const busiest = sessions.toSorted((a, b) => b.holds + b.waiters - a.holds - a.waiters || a.id - b.id)
      this.#table.show(busiest.slice(0, ROWS).map((session) => ({ ...session, at })))
      const part = sessions.length > ROWS ? `; the ${ROWS} with the most holds and waits are shown` : ''
      setText(this.#sum, `${whole(sessions.length)} open${part}.`)
      this.#problem.hidden = true
    } catch (error) {
      setText(this.#problem, whyOf(error))
      this.#problem.hidden = false
    }
  }

  #end({ id, openedBy, holds }: Session): void {
    const stay = holds === 0 ? '' : ` Its holds (${whole(holds)}) stay until their leases end.`
    ask(this.#console, {
      title: `End session ${id}${openedBy === '' ? '' : ` of ${visible(openedBy)}`}?`,
      text: `Its places in queues are lost.${stay} A store that comes back opens another session.`,
      action: 'End session',
      run: async () => {
        const answer = await this.#console.api.post<{ ended: boolean }>(`/v1/sessions/${id}:end`)
        void this.#reader.now()
        return answer?.ended === true ? `Session ${id} is ended.` : `Session ${id} had already ended.`
      },
    })
  }
}
