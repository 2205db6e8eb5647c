// Driver: `latchkey members` lists the members, and adds, promotes, removes or replaces a member. The command
// shows how far a new member is behind the leader.

import { didYouMean } from '@latchkey/base'
import { isLatchkeyError, LatchkeyError, type MemberStatus, millis } from '@latchkey/protocol'
import { type Command, duration, flag, UsageError, words } from './command-description-and-parser.js'
import { EXIT } from './exit-codes.js'
import type { Io } from './command-io-interface.js'
import { jsonLine, membersTable } from './print-values.js'
import { Progress } from './progress-display.js'
import { JSON_OPTION, type Session, STORE_OPTIONS, withStore } from './store-connection-of-command.js'

/** In ms. The pause between two attempts of a change that the cluster refuses for now. */
const LOOK_MS = 300
const DEFAULT_WAIT = '5s'
const LONG_WAIT = '10m'

interface Work extends Session {
  readonly io: Io
  /**
   * In ms. A change fails if the cluster has not accepted the change within this time, for example because a
   * learner still lags.
   */
  readonly wait: number
  readonly promote: boolean
}

interface Change {
  readonly words: readonly string[]
  /** Resolves to a text for the user about the result. */
  run(work: Work, words: readonly string[]): Promise<string>
}

const CHANGES: Readonly<Record<string, Change>> = {
  add: {
    words: ['ID', 'URL'],
    async run(work, [id = '', url = '']) {
      await changed(work, () => work.store.members.add(id, url, work.call))
      if (work.promote) return promoted(work, id)
      return `${id} is a learner now; 'latchkey members promote ${id}' lets it vote once it has caught up`
    },
  },
  promote: { words: ['ID'], run: (work, [id = '']) => promoted(work, id) },
  replace: {
    words: ['OLD', 'NEW', 'URL'],
    run: (work, [old = '', id = '', url = '']) => replaced(work, old, id, url),
  },
  update: {
    words: ['ID', 'URL'],
    async run(work, [id = '', url = '']) {
      await changed(work, () => work.store.members.update(id, url, work.call))
      return `the other members connect to ${id} at ${url} now; restart ${id} with this address`
    },
  },
  remove: {
    words: ['ID'],
    async run(work, [id = '']) {
      const before = await memberOf(work.store, work.call, id)
      await changed(work, () => work.store.members.remove(id, work.call))
      return before === undefined ? `${id} is no member` : `${id} is no member any more; it may be stopped`
    },
  },
  rebuild: {
    words: ['ID'],
    async run({ store, call }, [id = '']) {
      await store.members.rebuild(id, call)
      return `${id} deletes its state and gets it again from another member`
    },
  },
}

export const members: Command = {
  name: 'members',
  usage: '[add ID URL | promote ID | replace OLD NEW URL | update ID URL | remove ID | rebuild ID]',
  summary: 'List the members, or change them, one at a time.',
  notes: `add      adds a learner, which you have started with --join. With --promote, it becomes a voter when it has all entries.
promote  makes a learner a voter when it has all entries. The command waits for at most the time of --wait.
replace  adds NEW, makes it a voter when it has all entries, and removes OLD. If NEW and OLD have the same id, OLD is
         removed first. Start NEW with --join and an empty directory.
rebuild  makes a member get its state again from the other members. The member keeps its log and its vote.`,
  options: {
    promote: { type: 'boolean', help: 'for add: make the new member a voter when it has all entries' },
    wait: {
      type: 'string',
      value: 'DURATION',
      help: `how long to wait until the member has all entries; default: ${DEFAULT_WAIT} for promote, ${LONG_WAIT} for add --promote and replace`,
    },
    ...JSON_OPTION,
    ...STORE_OPTIONS,
  },
  examples: [
    'latchkey members',
    'latchkey members add d ws://127.0.0.1:7004 --promote',
    'latchkey members replace c d ws://127.0.0.1:7004',
    'latchkey members remove d',
  ],
  async run(line, io) {
    const [verb, ...rest] = words(line, 0, 4)
    const change = changeOf(verb, rest)
    const isLong = verb === 'replace' || flag(line, 'promote')
    const wait = duration(line, 'wait') ?? millis(isLong ? LONG_WAIT : DEFAULT_WAIT, '--wait')
    return withStore(line, io, async (session) => {
      const work = { ...session, io, wait, promote: flag(line, 'promote') }
      const said = await change?.run(work, rest)
      await tell(work, said)
      return EXIT.ok
    })
  },
}

function changeOf(verb: string | undefined, rest: readonly string[]): Change | undefined {
  if (verb === undefined || verb === 'list') {
    if (rest[0] !== undefined) throw new UsageError(`unexpected ${JSON.stringify(rest[0])}`)
    return undefined
  }
  const change = Object.hasOwn(CHANGES, verb) ? CHANGES[verb] : undefined
  if (change === undefined)
    throw new UsageError(
      `there is no 'members ${verb}'${didYouMean(verb, ['list', ...Object.keys(CHANGES)])}; there are list, ${Object.keys(CHANGES).join(', ')}`,
    )
  const missing = change.words[rest.length]
  if (missing !== undefined)
    throw new UsageError(`${missing} is missing: members ${verb} ${change.words.join(' ')}`)
  if (rest.length > change.words.length)
    throw new UsageError(`unexpected ${JSON.stringify(rest[change.words.length])}`)
  return change
}

async function tell({ store, call, json, io }: Work, said: string | undefined): Promise<void> {
  if (!json && said !== undefined) return io.out(`${said}\n`)
  const { members: now } = await store.status(call)
  io.out(json ? jsonLine(now) : membersTable(now, io.colours))
}

async function memberOf(
  store: Session['store'],
  call: Session['call'],
  id: string,
): Promise<MemberStatus | undefined> {
  const { members: now } = await store.status(call)
  return now.find((member) => member.id === id)
}

/**
 * Repeats the change until the cluster accepts the change, or until the time `wait` is over. The cluster
 * refuses a change while a learner is too far behind, and while another change is not complete. Such another
 * change may also be one that the leader makes by itself, for example to record a new member's address.
 */
async function changed(work: Work, ask: () => Promise<void>, show?: () => Promise<string>): Promise<void> {
  const { call, io, wait } = work
  const progress = new Progress(io)
  const until = io.clock.now() + wait
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!mayPass(error) || io.clock.now() >= until) throw error
    } finally {
      progress.clear()
    }
    progress.show(show === undefined ? 'another change of members is under way' : await show())
    await new Promise<void>((resolve) => io.clock.after(LOOK_MS, resolve))
    call.signal.throwIfAborted()
  }
}

const mayPass = (error: unknown): boolean =>
  (isLatchkeyError(error, 'ERR_BUSY') || isLatchkeyError(error, 'ERR_CONFIG_CHANGE_IN_PROGRESS')) &&
  error.retryable

async function promoted(work: Work, id: string): Promise<string> {
  const { store, call } = work
  const ask = () => store.members.promote(id, call)
  await changed(work, ask, async () => lagOf(id, await memberOf(store, call, id)))
  const { members: now } = await store.status(call)
  return `${id} votes now; there are ${now.filter(({ role }) => role === 'voter').length} voters`
}

const noSuchMember = (id: string, now: readonly MemberStatus[]): LatchkeyError =>
  new LatchkeyError(
    'ERR_MISMATCH',
    `There is no member ${id} to replace: the members are ${now.map((one) => one.id).join(', ')}. Nothing was changed.`,
  )

function lagOf(id: string, member: MemberStatus | undefined): string {
  if (member?.alive === false) return `${id} is not connected yet`
  return member?.lag === undefined
    ? `${id} is catching up`
    : `${id} is catching up, ${member.lag} entries to go`
}

/**
 * A new member with another id is added before `old` is removed, so the number of voters never falls. A new
 * member with the same id is added after the removal.
 * Law: if `old` is not a member, the function changes nothing and fails (M27). Without this law: the operator
 * mistypes the id, and the new member joins beside the member that it should replace. Exception: if the new
 * member is a voter at the given address, an earlier run has made the whole change, and this call succeeds.
 */
async function replaced(work: Work, old: string, id: string, url: string): Promise<string> {
  const { store, call } = work
  const { members: now } = await store.status(call)
  if (!now.some((member) => member.id === old)) {
    const isDone = now.some((one) => one.id === id && one.role === 'voter' && one.url === url)
    if (isDone) return `${id} votes, and ${old} is no member`
    throw noSuchMember(old, now)
  }
  const remove = () => changed(work, () => store.members.remove(old, call))
  if (old === id) await remove()
  await changed(work, () => store.members.add(id, url, call))
  const said = await promoted(work, id)
  if (old === id) return said
  await remove()
  return `${id} votes in place of ${old}, which may be stopped`
}
