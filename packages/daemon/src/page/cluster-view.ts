// Driver: the view of the cluster: its leader, its members, and the speed of the member that serves the page.

import type { Console, Member, Status, View } from './shared-view-types.js'
import { may } from './signed-in-user-types.js'
import { drawing, el, fact, setText } from './html-elements.js'
import { MetricsReading, quantile, rate } from './metrics-rates.js'
import { ask, whyOf } from './confirm-dialog.js'
import { Table } from './keyed-html-table.js'
import { duration, latency, size, whole } from './key-and-number-formatting.js'
import { after, every, now, Refresher } from './browser-clock.js'

const STATUS_MS = 3_000
const FIGURES_MS = 5_000
const MOST_POINTS = 60
const NO_FIGURE = '–'

export class Overview implements View {
  readonly title = 'Overview'
  readonly root = el('div', { class: 'view' })
  readonly #console: Console
  readonly #headline = el('p', { class: 'headline', role: 'status' })
  readonly #facts = new Map<string, HTMLElement>()
  readonly #chart = el('div', { class: 'chart' })
  readonly #table: Table<Member>
  readonly #problem = el('p', { class: 'refused', hidden: true })
  readonly #points: number[] = []
  #before: MetricsReading | undefined
  #status: Status | undefined
  #statusAt = 0
  #ends: (() => void)[] = []

  constructor(console: Console) {
    this.#console = console
    this.#table = new Table('Members', this.#columns(), ({ id }) => id, 'No member is known yet.')
    this.root.append(
      this.#headline,
      this.#problem,
      this.#cards('Calls and latencies', NOW),
      this.#chart,
      el('h2', {}, 'Members'),
      this.#table.root,
      this.#cards('What is in the store', STORE),
      this.#cards('This member', SELF),
    )
  }

  #columns() {
    const leads = (member: Member) => member.id === this.#status?.leader
    return [
      {
        head: 'Member',
        text: ({ id }: Member) => id,
        mark: (member: Member) => (leads(member) ? 'leader' : ''),
      },
      {
        head: 'Role',
        text: (member: Member) =>
          leads(member) ? 'leader' : member.role === 'learner' ? 'learner' : 'follower',
      },
      {
        head: 'Health',
        text: (member: Member) => this.#healthOf(member),
        mark: (member: Member) => (member.alive === false ? 'bad' : 'good'),
      },
      {
        head: 'Since',
        kind: 'number',
        text: ({ sinceMillis }: Member) =>
          sinceMillis === undefined ? NO_FIGURE : duration(sinceMillis + now() - this.#statusAt),
      },
      {
        head: 'Entries behind',
        kind: 'number',
        text: ({ lag }: Member) => (lag === undefined ? NO_FIGURE : whole(lag)),
      },
      {
        head: 'Address',
        kind: 'wide',
        text: ({ url }: Member) => pageOf(url),
        link: ({ url }: Member) => pageOf(url),
      },
      ...(may(this.#console.person, 'admin')
        ? [
            {
              head: 'Actions',
              kind: 'action',
              text: (member: Member) => (leads(member) ? 'Hand over' : 'Make leader'),
              press: (member: Member) => this.#transfer(member, leads(member)),
            },
          ]
        : []),
    ]
  }

  #healthOf({ id, alive }: Member): string {
    if (id === this.#status?.id) return 'this member runs'
    if (alive === undefined) return NO_FIGURE
    return alive ? 'connected' : 'does not answer'
  }

  #cards(title: string, names: readonly string[]): HTMLElement {
    const cards = names.map((name) => {
      const value = el(name === 'Cluster' ? 'code' : 'span', {}, NO_FIGURE)
      this.#facts.set(name, value)
      return fact(name, value)
    })
    return el('section', {}, el('h2', {}, title), el('dl', { class: 'facts' }, ...cards))
  }

  start(): void {
    const status = new Refresher(() => this.#readStatus())
    const figures = new Refresher(() => this.#readFigures(), 1_000, 10)
    void status.now()
    void figures.now()
    this.#ends = [
      every(STATUS_MS, () => status.soon()),
      after(1_200, () => figures.soon()),
      every(FIGURES_MS, () => figures.soon()),
      () => status.stop(),
      () => figures.stop(),
    ]
  }

  stop(): void {
    for (const end of this.#ends) end()
  }

  async #readStatus(): Promise<void> {
    try {
      this.#showStatus(await this.#console.api.get<Status>('/status'))
      this.#problem.hidden = true
    } catch (error) {
      setText(this.#problem, whyOf(error))
      this.#problem.hidden = false
    }
  }

  #showStatus(status: Status): void {
    this.#status = status
    this.#statusAt = now()
    const { leader, id, members, version, uptimeMillis, disk, term, whyNoLeader } = status
    const alive = members.filter((member) => member.alive !== false || member.id === id).length
    const health =
      alive === members.length
        ? 'All members answer.'
        : `${members.length - alive} of ${members.length} members do not answer.`
    setText(
      this.#headline,
      leader === undefined
        ? `Nobody leads. ${whyNoLeader ?? 'The members elect a leader.'}`
        : `${leader} leads in term ${term}. ${members.length === 1 ? 'It is the only member.' : health}`,
    )
    this.#headline.dataset['mark'] = leader === undefined ? 'bad' : alive === members.length ? 'good' : 'warn'
    this.#table.show(members)
    this.#set('Version', version)
    this.#set('Running for', duration(uptimeMillis))
    this.#set('Applied entries', whole(status.applied))
    this.#set('Disk free', disk === undefined ? 'in memory' : size(disk.freeBytes))
    this.#set('State on disk', disk === undefined ? 'in memory' : size(disk.stateBytes))
    this.#set('Cluster', status.clusterId === '' ? NO_FIGURE : status.clusterId)
  }

  async #readFigures(): Promise<void> {
    let text: string
    try {
      text = await (await this.#console.api.response('/metrics')).text()
    } catch {
      // This failure is not shown. The page also reads the status, and if that read fails, the page shows the
      // reason.
      return
    }
    const figures = new MetricsReading(text, now())
    const before = this.#before
    this.#before = figures
    const calls = rate(before, figures, 'latchkey_requests_total')
    if (calls !== undefined) this.#draw(calls)
    this.#set('Calls a second', calls === undefined ? NO_FIGURE : whole(calls))
    for (const [name, metric, labels] of LATENCIES) {
      const last =
        quantile(before, figures, metric, 0.99, labels) ?? quantile(undefined, figures, metric, 0.99, labels)
      this.#set(name, latency(last))
    }
    this.#set('Keys’ revision', whole(figures.sum('latchkey_revision')))
    this.#set('Locks held', whole(figures.sum('latchkey_holds')))
    this.#set('Callers that wait', whole(figures.sum('latchkey_waiters')))
    this.#set('Sessions', whole(figures.sum('latchkey_sessions')))
    this.#set('Watches here', whole(figures.sum('latchkey_watches')))
  }

  #set(name: string, text: string): void {
    const element = this.#facts.get(name)
    if (element !== undefined) setText(element, text)
  }

  #draw(calls: number): void {
    this.#points.push(calls)
    if (this.#points.length > MOST_POINTS) this.#points.shift()
    const most = Math.max(1, ...this.#points)
    if (this.#points.length < 2) return
    const step = 600 / (this.#points.length - 1)
    const line = this.#points.map((value, i) => `${i * step},${78 - (value / most) * 70}`)
    const label = `Calls a second since this view was opened, five minutes at most: now ${whole(calls)}, at most ${whole(most)}`
    this.#chart.replaceChildren(
      drawing(
        'svg',
        { viewBox: '0 0 600 80', preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
        drawing('polygon', { points: `0,80 ${line.join(' ')} 600,80` }),
        drawing('polyline', { points: line.join(' ') }),
      ),
      el('p', { class: 'note' }, label),
    )
  }

  #transfer({ id }: Member, leads: boolean): void {
    ask(this.#console, {
      title: leads ? `Hand over the leadership of ${id}?` : `Make ${id} the leader?`,
      text: `Calls wait until the new leader serves, which is usually well below a second. Locks stay with their holders. If ${leads ? 'no other member is' : `${id} is not`} up to date, nothing changes.`,
      action: leads ? 'Hand over' : 'Make leader',
      run: async () => {
        await this.#console.api.post('/v1/members:transferLeadership?timeout=5s', leads ? {} : { to: id })
        return leads ? `${id} has handed over the leadership.` : `${id} leads now.`
      },
    })
  }
}

const NOW = [
  'Calls a second',
  'Writes take (99 %)',
  'Reads take (99 %)',
  'Commits take (99 %)',
  'Log syncs take (99 %)',
]
const STORE = [
  'Locks held',
  'Callers that wait',
  'Sessions',
  'Watches here',
  'Keys’ revision',
  'State on disk',
]
const SELF = ['Version', 'Running for', 'Applied entries', 'Disk free', 'Cluster']
const LATENCIES = [
  ['Writes take (99 %)', 'latchkey_request_duration_seconds', { kind: 'write' }],
  ['Reads take (99 %)', 'latchkey_request_duration_seconds', { kind: 'read' }],
  ['Commits take (99 %)', 'latchkey_commit_duration_seconds', {}],
  ['Log syncs take (99 %)', 'latchkey_log_sync_duration_seconds', {}],
] as const

/** Returns the URL of a member's web console, which has the same host and port as the member. */
export const pageOf = (url: string): string => `${url.replace(/^ws/, 'http')}/`
