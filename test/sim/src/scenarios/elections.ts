// Rule: directed scenarios about who leads.

import type { Scenario } from './scenario.js'

const TERMS = 10

export const elections: readonly Scenario[] = [
  {
    title: 'E1, E4: a vote that was told is not forgotten by a power loss',
    stage: { members: 3, sync: 20_000, electionTimeout: 400 },
    async run(stage) {
      stage.restart()
      // b dies while its vote for a is being synced; a word that left before is on its way. Then c asks b in
      // the same term.
      stage.isolate('c')
      stage.crashAt('b', { kind: 'sync', when: 'during' })
      stage.drop(({ type, from }) => (type === 'preVote' || type === 'vote') && from === 'b')
      await stage.until('b dies at its vote', () => !stage.member('b').isUp)
      await stage.run(5)
      stage.cut('a', 'b')
      stage.mend('b', 'c')
      stage.start('b')
      await stage.until('c leads', () => stage.view('c').role === 'leader')
      stage.heal()
      await stage.runTimeouts(10)
      await stage.mustWrite()
    },
  },
  {
    title: 'E7: a higher term with a short log does not keep a longer log of a lower term from leading',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      stage.isolate('b')
      const { lastIndex } = stage.view('a')
      for (let i = 0; i < 5; i++) stage.write('a')
      await stage.until('c has the log', () => stage.view('c').lastIndex === lastIndex + 5)
      // b learns of a term far ahead; it cannot win it.
      const { term } = stage.view('b')
      stage.inject({
        type: 'heartbeatReply',
        group: 0,
        from: 'c',
        to: 'b',
        term: term + 3,
        round: 0,
        match: 0,
      })
      stage.crash('a')
      stage.mend('b', 'c')
      await stage.until('c leads', () => stage.leader() === 'c', TERMS * stage.electionTimeout)
      await stage.mustWrite()
    },
  },
  {
    title: 'E10: five members, two of which see only one other each: the leader stays',
    stage: { members: 5 },
    async run(stage) {
      stage.member('a').transfer('c')
      await stage.lead('c')
      for (const other of ['a', 'c', 'e']) stage.cut('d', other)
      for (const other of ['a', 'b', 'd']) stage.cut('e', other)
      await stage.runTimeouts(10)
      const before = stage.world.watch.counts.elections
      await stage.run(60_000)
      const changes = stage.world.watch.counts.elections - before
      stage.demand(changes < 3, `${changes} leaders in 60 s`)
      await stage.mustWrite()
    },
  },
  {
    title: 'E10: two members do not see each other, a third one sees both: the leader stays',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      stage.cut('a', 'b')
      const { term } = stage.view('a')
      await stage.run(60_000)
      stage.demand(stage.leader() === 'a' && stage.view('a').term === term, 'the leader changed')
      await stage.mustWrite()
    },
  },
  {
    title: 'E11: a leader that can send but not hear steps down, and another one serves',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      stage.cutOneWay('b', 'a')
      stage.cutOneWay('c', 'a')
      await stage.until('a steps down', () => stage.view('a').role !== 'leader', 2 * stage.electionTimeout)
      await stage.mustWrite(5 * stage.electionTimeout)
    },
  },
  {
    title: 'E12: a member that was alone for a thousand election timeouts comes back and disturbs nobody',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      stage.isolate('c')
      await stage.runTimeouts(1000)
      const { term } = stage.view('a')
      stage.heal()
      await stage.runTimeouts(20)
      stage.demand(stage.leader() === 'a', 'the leader changed')
      stage.demand(stage.view('a').term === term && stage.view('c').term === term, 'the term changed')
      await stage.mustWrite()
    },
  },
  {
    title:
      'E13, M12: a member that does not know of its removal asks for votes, and the others are not disturbed',
    stage: { members: 4 },
    async run(stage) {
      await stage.lead('a')
      stage.isolate('d')
      stage.member('a').change({ type: 'remove', id: 'd' })
      await stage.settle('a')
      await stage.runTimeouts(15)
      const { term } = stage.view('a')
      const forget = stage.drop(({ from, to }) => from === 'a' && to === 'd')
      for (const other of ['a', 'b', 'c']) stage.mend('d', other)
      await stage.run(60_000)
      stage.demand(stage.leader() === 'a' && stage.view('a').term === term, 'the removed member disturbed')
      forget()
    },
  },
  {
    title: 'E17: a transfer to a dead member stops the writes for an election timeout at most',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      stage.crash('b')
      stage.member('a').transfer('b')
      await stage.run(stage.electionTimeout + 30)
      const request = stage.write('a')
      await stage.until('writes go on', () => stage.isDone(request), stage.electionTimeout)
    },
  },
  {
    title: 'E17, E18: a transfer moves the lead, and no write is lost',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      stage.write('a')
      stage.member('a').transfer('c')
      await stage.until('c leads', () => stage.leader() === 'c', stage.electionTimeout)
      await stage.mustWrite()
      await stage.mustRead('a')
    },
  },
  {
    title: 'E18, R2: a leader that has handed over and was cut off before it knew answers no read',
    stage: { members: 3, electionTimeout: 1000 },
    async run(stage) {
      await stage.lead('a')
      await stage.mustWrite()
      stage.member('a').transfer('b')
      await stage.run(2)
      stage.isolate('a')
      await stage.until('b leads', () => stage.view('b').role === 'leader', 300)
      await stage.mustWrite(300)
      const stale = stage.read('a')
      await stage.run(50)
      stage.demand(stage.view('a').role === 'leader', 'a knows too early')
      stage.demand(!stage.isDone(stale), 'a stale leader answered')
      stage.heal()
      await stage.runTimeouts(3)
    },
  },
  {
    title: 'E20: all start at once, with timers that fire at the same instants: a leader within ten timeouts',
    stage: { members: 5, sync: 100 },
    async run(stage) {
      stage.restart()
      await stage.until('somebody leads', () => stage.leader() !== undefined, 10 * stage.electionTimeout)
      await stage.mustWrite()
    },
  },
  {
    title: 'E21: one voter: leads only when its vote is on disk, and keeps its data over a restart',
    stage: { members: 1, sync: 50_000 },
    async run(stage) {
      await stage.elect('a')
      const { applied } = stage.view('a')
      for (let i = 0; i < 5; i++) await stage.mustWrite()
      stage.crash('a')
      stage.start('a')
      await stage.mustWrite()
      await stage.mustRead('a')
      stage.demand(stage.view('a').applied >= applied + 5, 'entries are missing')
    },
  },
  {
    title: 'E14: a learner that is told to campaign does not',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      const learner = stage.world.recruit()
      if (learner === undefined) stage.fail('no member to add')
      const peer = { url: 'ws://d', incarnation: 'd-1' }
      stage.member('a').change({ type: 'add-learner', id: 'd', peer })
      await stage.settle('a')
      await stage.run(100)
      const { term } = stage.view('a')
      stage.member('a').transfer('d')
      stage.inject({ type: 'timeoutNow', group: 0, from: 'a', to: 'd', term })
      await stage.runTimeouts(3)
      stage.demand(
        stage.view('d').role === 'learner' && stage.view('a').term === term,
        'the learner campaigned',
      )
    },
  },
  {
    title: 'T1, R2: a leader that was blocked for ten timeouts answers nothing as leader when it wakes',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      await stage.mustWrite()
      stage.pause('a', 10 * stage.electionTimeout)
      await stage.run(1)
      const stale = stage.read('a')
      await stage.until('another leads', () => stage.leader() !== 'a', 9 * stage.electionTimeout)
      await stage.mustWrite()
      // The laws judge the read: it may be refused, or reflect the write.
      await stage.runTimeouts(15)
      stage.demand(stage.answer(stale) !== undefined, 'the read was never answered')
    },
  },
  {
    title: 'T2: a follower that was blocked for ten timeouts hears what waited before it campaigns',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      const { term } = stage.view('a')
      for (let round = 0; round < 5; round++) {
        stage.pause('b', 10 * stage.electionTimeout)
        await stage.runTimeouts(12)
      }
      stage.demand(stage.leader() === 'a' && stage.view('a').term === term, 'the leader changed')
    },
  },
  {
    title: 'T3: wall clocks that step by an hour change nothing',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      const { term } = stage.view('a')
      stage.member('a').host.clock.stepWall(3_600_000)
      stage.member('b').host.clock.stepWall(-3_600_000)
      await stage.runTimeouts(20)
      await stage.mustWrite()
      stage.demand(stage.leader() === 'a' && stage.view('a').term === term, 'the leader changed')
    },
  },
]
