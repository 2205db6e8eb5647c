// Rule: the commands of the trace language, each in one row of a table.

import { utf8 } from '@latchkey/base'
import type { LogPosition, MemberId, MembershipChange, Proposal, Raft } from '../index.js'
import { NO_MEMBERS, encodeMembership } from '../index.js'
import { forge } from './forged-messages.js'
import { type Stage, TICK, addresses, membersOfGroup } from './trace-state.js'
import { isPair, list, pairs, position } from './parse-trace-line.js'
import { ORIGIN, place } from './group-of-cores.js'

type Command = (stage: Stage, words: string[]) => void

function splitLearners(words: string[]): [string[], string[]] {
  const plain = words.filter((word) => !isPair(word))
  const at = plain.indexOf('learners')
  return at < 0 ? [plain, []] : [plain.slice(0, at), plain.slice(at + 1)]
}

const group: Command = (stage, words) => {
  const [voters, learners] = splitLearners(words)
  const membership = membersOfGroup(voters, learners)
  for (const id of [...voters, ...learners]) addMember(stage, id, membership, pairs(words))
}

const join: Command = (stage, words) => addMember(stage, words[0] as string, NO_MEMBERS, pairs(words))

function addMember(
  stage: Stage,
  id: MemberId,
  membership: typeof NO_MEMBERS,
  given: Map<string, string>,
): void {
  const number = (name: string) =>
    given.has(name) ? { [NAMES[name] as string]: Number(given.get(name)) } : {}
  stage.world.add(
    {
      id,
      group: 1,
      electionTimeout: 1000,
      heartbeat: 100,
      random: stage.random(),
      preVote: given.get('pre-vote') !== 'no',
      ...Object.assign({}, ...Object.keys(NAMES).map(number)),
    },
    { hardState: { term: 0, vote: undefined }, start: ORIGIN, membership, entries: [] },
    { position: ORIGIN, membership },
  )
}

const NAMES: Record<string, string> = {
  window: 'maxInflight',
  'append-bytes': 'maxAppendBytes',
  'entry-bytes': 'maxEntryBytes',
  uncommitted: 'maxUncommittedBytes',
  snapshots: 'maxSnapshots',
  kept: 'keptBytes',
}

const state: Command = (stage, [id = '', ...words]) => {
  const member = stage.live(id)
  const given = pairs(words)
  const { membership } = member.image
  const start = given.has('after') ? position(given.get('after') as string) : ORIGIN
  const terms = list(given.get('log')).map(Number)
  const entries = terms.map((term, i) => {
    const data = utf8(`${i}`)
    return { index: start.index + 1 + i, term, time: start.time, kind: 'commands', data } as const
  })
  const term = Number(given.get('t') ?? terms.at(-1) ?? start.term)
  const applied = Number(given.get('applied') ?? start.index)
  const appliedAt = applied === start.index ? start : entries[applied - start.index - 1]
  member.image = { hardState: { term, vote: given.get('vote') }, start, membership, entries: [...entries] }
  member.machine = { position: place(appliedAt as LogPosition), membership }
  stage.world.start(member)
}

const everyone = (stage: Stage, word: string | undefined) => (word === 'all' ? stage.ids() : [word as string])

function wait(stage: Stage, word: string | undefined, ms: number): void {
  const ids = everyone(stage, word)
  for (let passed = 0; passed < ms; passed += TICK) {
    for (const id of ids) stage.wait(id, Math.min(TICK, ms - passed))
  }
}

const timeout: Command = (stage, [id = '']) => {
  const { raft } = stage.live(id)
  const asks = () => raft?.state.campaign
  const before = asks()
  for (let i = 0; i < 500 && (asks() === undefined || asks() === before); i++) stage.wait(id, TICK)
}

/** Lets time pass for all members. Every message arrives at once. */
function run(stage: Stage, ms: number): void {
  for (let passed = 0; passed < ms; passed += TICK) {
    for (const id of stage.ids()) stage.wait(id, TICK)
    stage.settle()
  }
}

const ELECTION = new Set(['preVote', 'preVoteReply', 'vote', 'voteReply'])

/**
 * Lets enough time pass that the other members no longer refuse the candidate because of their leader. Only
 * votes are delivered.
 */
const win: Command = (stage, [id = '']) => {
  stage.hush(true)
  for (const other of stage.ids()) if (other !== id) stage.wait(other, 1000)
  timeout(stage, [id])
  for (let i = 0; i < 10 && stage.live(id).raft?.role !== 'leader'; i++) {
    for (const one of stage.ids()) if (stage.live(id).raft?.role !== 'leader') stage.world.sync(one)
    stage.deliver(stage.world.network.filter((m) => ELECTION.has(m.type)))
  }
  stage.hush(false)
  const { raft } = stage.live(id)
  stage.say(
    raft?.role === 'leader'
      ? `${id} leads t${raft.term}, its first entry is ${raft.lastIndex}`
      : `${id} does not lead`,
  )
}

const wayAndCount = (words: string[]): [string | undefined, number | undefined] => {
  const way = words.find((word) => word.includes('->'))
  const count = words.find((word) => /^\d+$/.test(word))
  return [way, count === undefined ? undefined : Number(count)]
}

const drop: Command = (stage, words) => {
  const messages = stage.onTheWay(...wayAndCount(words))
  stage.remove(messages)
  stage.say(`dropped ${messages.length}`)
}

const dup: Command = (stage, words) => {
  stage.world.network.push(...stage.onTheWay(...wayAndCount(words)).map((m) => ({ ...m })))
}

const hold: Command = (stage, words) => {
  const messages = stage.onTheWay(...wayAndCount(words))
  stage.remove(messages)
  stage.world.network.push(...messages)
}

const cut: Command = (stage, [one, other, oneWay]) => {
  stage.cuts.add(`${one}->${other}`)
  if (oneWay === undefined) stage.cuts.add(`${other}->${one}`)
}

function proposing(stage: Stage, id: MemberId, propose: (raft: Raft, now: number) => Proposal): void {
  stage.world.call(id, (raft, now) => {
    const proposal = propose(raft, now)
    if (proposal.ok) return proposal.effects
    const why = proposal.why === undefined ? '' : `: ${proposal.why}`
    const leader = proposal.reason === 'not-leader' ? ` (leader ${proposal.leader ?? '-'})` : ''
    stage.say(`${id}: refused, ${proposal.reason}${why}${leader}`)
    return []
  })
}

function parseChange(words: string[]): MembershipChange {
  const [type, who = '', , learners] = words
  if (type === 'add-learner') return { type, id: who, peer: { url: `ws://${who}`, incarnation: '' } }
  if (type === 'promote' || type === 'remove') return { type, id: who }
  const ids = [...list(who), ...list(learners)]
  return { type: 'replace', voters: list(who), learners: list(learners), peers: addresses(ids) }
}

const piece: Command = (stage, [id = '', to = '', where = '', offset, bytes, last]) => {
  const { raft, machine } = stage.live(id)
  const at = position(where)
  const known = raft !== undefined && at.index >= raft.firstIndex - 1
  const time = known
    ? at.index < raft.firstIndex
      ? raft.state.log.start.time
      : raft.entry(at.index).time
    : 0
  stage.world.call(id, (core, now) =>
    core.snapshotChunk(
      {
        to,
        position: { ...at, time },
        membership: machine.membership,
        offset: Number(offset),
        chunk: new Uint8Array(Number(bytes)),
        done: last === 'last',
      },
      now,
    ),
  )
}

const installed: Command = (stage, [id = '', by = '']) => {
  const member = stage.live(id)
  const staging = member.raft?.state.staging
  if (staging === undefined) return stage.say(`${id}: has staged nothing`)
  const { position: at, membership } = staging
  member.machine = { position: at, membership }
  member.rebuild = false
  if (by === 'then-crash') return stage.world.crash(id)
  stage.world.call(id, (raft, now) => raft.snapshotInstalled(at, membership, now))
}

const restart: Command = (stage, [id = '', how]) => {
  const member = stage.live(id)
  member.mayVote = how !== 'no-vote'
  if (how === 'rebuild') member.rebuild = true
  stage.world.start(member)
  stage.say((member.raft as Raft).describe().split('\n')[0] as string)
}

/**
 * Gives the disk an old content: only the entries up to this index, as an old copy of the disk would have.
 */
const rollBack: Command = (stage, [id = '', to]) => {
  const member = stage.live(id)
  stage.world.crash(id)
  member.image.entries = member.image.entries.filter(({ index }) => index <= Number(to))
  const last = member.image.entries.at(-1)
  if (member.machine.position.index > Number(to) && last !== undefined) {
    member.machine = { position: place(last), membership: member.machine.membership }
  }
  stage.world.start(member)
}

/** Adds a 'members' entry to the log on the member's disk, as its next entry. */
const stateMembers: Command = (stage, [id = '', ...words]) => {
  const member = stage.live(id)
  const { image } = member
  const given = pairs(words)
  const lists = ['voters', 'outgoing', 'learners', 'next'].map((name) => list(given.get(name)))
  const [voters, outgoing, learners, learnersNext] = lists as [string[], string[], string[], string[]]
  const peers = addresses([...new Set([...voters, ...outgoing, ...learners])])
  const data = encodeMembership({ voters, outgoing, learners, learnersNext, peers })
  const index = (image.entries.at(-1)?.index ?? image.start.index) + 1
  const term = Number(given.get('t') ?? image.hardState.term)
  image.entries.push({ index, term, time: 0, kind: 'members', data })
  stage.world.start(member)
}

export const commands: Record<string, Command | undefined> = {
  group,
  join,
  state,
  'state-members': stateMembers,
  wait: (stage, [id, ms]) => wait(stage, id, Number(ms)),
  stall: (stage, [id = '', ms]) => void (stage.live(id).now += Number(ms)),
  timeout,
  win,
  run: (stage, [ms]) => run(stage, Number(ms)),
  deliver: (stage, words) => stage.deliver(stage.onTheWay(...wayAndCount(words))),
  drop,
  dup,
  hold,
  cut,
  heal: (stage) => stage.cuts.clear(),
  sync: (stage, [id = '', upTo]) => stage.world.sync(id, upTo === undefined ? undefined : Number(upTo)),
  settle: (stage) => stage.settle(),
  elect: (stage, words) => {
    timeout(stage, words)
    stage.settle()
  },
  propose: (stage, [id = '', ...text]) =>
    proposing(stage, id, (raft, now) => raft.propose('commands', utf8(text.join(' ')), now)),
  'tick-entry': (stage, [id = '']) =>
    proposing(stage, id, (raft, now) => raft.propose('empty', new Uint8Array(0), now)),
  change: (stage, [id = '', ...words]) =>
    proposing(stage, id, (raft, now) => raft.proposeChange(parseChange(words), now)),
  read: (stage, [id = '', context]) => stage.world.call(id, (raft, now) => raft.read(Number(context), now)),
  transfer: (stage, [id = '', to]) => stage.world.call(id, (raft, now) => raft.transfer(to, now)),
  gone: (stage, [id = '', leader = '', term]) =>
    stage.world.call(id, (raft, now) => raft.leaderGone(leader, Number(term ?? raft.term), now)),
  unreachable: (stage, [id = '', to = '']) => stage.world.call(id, (raft, now) => raft.unreachable(to, now)),
  compact: (stage, [id = '', index]) => stage.world.compact(id, Number(index)),
  piece,
  'piece-fails': (stage, [id = '', to = '']) =>
    stage.world.call(id, (raft, now) => raft.snapshotFailed(to, now)),
  installed,
  'install-fails': (stage, [id = '']) => stage.world.call(id, (raft, now) => raft.snapshotFailed(id, now)),
  message: (stage, words) => stage.deliver([forge(words)]),
  crash: (stage, [id = '', , kept]) => stage.world.crash(id, Number(kept ?? 0)),
  restart,
  'roll-back': rollBack,
  'allow-votes': (stage, [id = '']) => stage.world.call(id, (raft, now) => raft.allowVoting(now)),
  time: (stage, [id = '']) => {
    const { raft, now } = stage.live(id)
    stage.say(`${id}: cluster time ${raft?.clusterTime(now)}`)
  },
  show: (stage, [id]) => {
    const ids = id === undefined ? stage.ids() : [id]
    for (const one of ids)
      for (const line of stage.live(one).raft?.describe().split('\n') ?? []) stage.say(line)
  },
  quiet: (stage) => stage.hush(true),
  loud: (stage) => stage.hush(false),
}
