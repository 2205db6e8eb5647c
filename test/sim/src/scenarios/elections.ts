// Rule: directed scenarios about elections.

import type { Scenario } from './scenario.js'

const TERMS = 10

export const elections: readonly Scenario[] = [
  {
    title: 'E1, E4: a vote that was told is not forgotten by a power loss',
    cluster: { members: 3, sync: 20_000, electionTimeout: 400 },
    async run(cluster) {
      cluster.restart()
      // b dies during the sync of its vote for a. If b had sent the vote before the sync, the message would
      // arrive. Later c asks b for its vote in the same term.
      cluster.isolate('c')
      cluster.crashAt('b', { kind: 'sync', when: 'during' })
      cluster.drop(({ type, from }) => (type === 'preVote' || type === 'vote') && from === 'b')
      await cluster.until('b dies at its vote', () => !cluster.member('b').isUp)
      await cluster.run(5)
      cluster.cut('a', 'b')
      cluster.mend('b', 'c')
      cluster.start('b')
      await cluster.until('c leads', () => cluster.view('c').role === 'leader')
      cluster.heal()
      await cluster.runTimeouts(10)
      await cluster.mustWrite()
    },
  },
  {
    title: 'E7: a higher term with a short log does not keep a longer log of a lower term from leading',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      cluster.isolate('b')
      const { lastIndex } = cluster.view('a')
      for (let i = 0; i < 5; i++) cluster.write('a')
      await cluster.until('c has the log', () => cluster.view('c').lastIndex === lastIndex + 5)
      // b learns of a much higher term. b cannot win an election there.
      const { term } = cluster.view('b')
      cluster.inject({
        type: 'heartbeatReply',
        group: 0,
        from: 'c',
        to: 'b',
        term: term + 3,
        round: 0,
        match: 0,
      })
      cluster.crash('a')
      cluster.mend('b', 'c')
      await cluster.until('c leads', () => cluster.leader() === 'c', TERMS * cluster.electionTimeout)
      await cluster.mustWrite()
    },
  },
  {
    title: 'E10: five members, two of which see only one other each: the leader stays',
    cluster: { members: 5 },
    async run(cluster) {
      cluster.member('a').transfer('c')
      await cluster.lead('c')
      for (const other of ['a', 'c', 'e']) cluster.cut('d', other)
      for (const other of ['a', 'b', 'd']) cluster.cut('e', other)
      await cluster.runTimeouts(10)
      const before = cluster.world.laws.counts.elections
      await cluster.run(60_000)
      const changes = cluster.world.laws.counts.elections - before
      cluster.demand(changes < 3, `${changes} leaders in 60 s`)
      await cluster.mustWrite()
    },
  },
  {
    title: 'E10: two members do not see each other, a third one sees both: the leader stays',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      cluster.cut('a', 'b')
      const { term } = cluster.view('a')
      await cluster.run(60_000)
      cluster.demand(cluster.leader() === 'a' && cluster.view('a').term === term, 'the leader changed')
      await cluster.mustWrite()
    },
  },
  {
    title: 'E11: a leader that can send but not hear steps down, and another one serves',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      cluster.cutOneWay('b', 'a')
      cluster.cutOneWay('c', 'a')
      await cluster.until(
        'a steps down',
        () => cluster.view('a').role !== 'leader',
        2 * cluster.electionTimeout,
      )
      await cluster.mustWrite(5 * cluster.electionTimeout)
    },
  },
  {
    title: 'E12: a member that was alone for a thousand election timeouts comes back and disturbs nobody',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      cluster.isolate('c')
      await cluster.runTimeouts(1000)
      const { term } = cluster.view('a')
      cluster.heal()
      await cluster.runTimeouts(20)
      cluster.demand(cluster.leader() === 'a', 'the leader changed')
      cluster.demand(cluster.view('a').term === term && cluster.view('c').term === term, 'the term changed')
      await cluster.mustWrite()
    },
  },
  {
    title:
      'E13, M12: a member that does not know of its removal asks for votes, and the others are not disturbed',
    cluster: { members: 4 },
    async run(cluster) {
      await cluster.lead('a')
      cluster.isolate('d')
      cluster.member('a').change({ type: 'remove', id: 'd' })
      await cluster.settle('a')
      await cluster.runTimeouts(15)
      const { term } = cluster.view('a')
      const forget = cluster.drop(({ from, to }) => from === 'a' && to === 'd')
      for (const other of ['a', 'b', 'c']) cluster.mend('d', other)
      await cluster.run(60_000)
      cluster.demand(
        cluster.leader() === 'a' && cluster.view('a').term === term,
        'the removed member disturbed',
      )
      forget()
    },
  },
  {
    title: 'E17: a transfer to a dead member stops the writes for an election timeout at most',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      cluster.crash('b')
      cluster.member('a').transfer('b')
      await cluster.run(cluster.electionTimeout + 30)
      const request = cluster.write('a')
      await cluster.until('writes go on', () => cluster.isDone(request), cluster.electionTimeout)
    },
  },
  {
    title: 'E17, E18: a transfer moves the lead, and no write is lost',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      cluster.write('a')
      cluster.member('a').transfer('c')
      await cluster.until('c leads', () => cluster.leader() === 'c', cluster.electionTimeout)
      await cluster.mustWrite()
      await cluster.mustRead('a')
    },
  },
  {
    title: 'E18, R2: a leader that has handed over and was cut off before it knew answers no read',
    cluster: { members: 3, electionTimeout: 1000 },
    async run(cluster) {
      await cluster.lead('a')
      await cluster.mustWrite()
      cluster.member('a').transfer('b')
      await cluster.run(2)
      cluster.isolate('a')
      await cluster.until('b leads', () => cluster.view('b').role === 'leader', 300)
      await cluster.mustWrite(300)
      const stale = cluster.read('a')
      await cluster.run(50)
      cluster.demand(cluster.view('a').role === 'leader', 'a knows too early')
      cluster.demand(!cluster.isDone(stale), 'a stale leader answered')
      cluster.heal()
      await cluster.runTimeouts(3)
    },
  },
  {
    title: 'E20: all start at once, with timers that fire at the same instants: a leader within ten timeouts',
    cluster: { members: 5, sync: 100 },
    async run(cluster) {
      cluster.restart()
      await cluster.until(
        'somebody leads',
        () => cluster.leader() !== undefined,
        10 * cluster.electionTimeout,
      )
      await cluster.mustWrite()
    },
  },
  {
    title: 'E21: one voter: leads only when its vote is on disk, and keeps its data over a restart',
    cluster: { members: 1, sync: 50_000 },
    async run(cluster) {
      await cluster.elect('a')
      const { applied } = cluster.view('a')
      for (let i = 0; i < 5; i++) await cluster.mustWrite()
      cluster.crash('a')
      cluster.start('a')
      await cluster.mustWrite()
      await cluster.mustRead('a')
      cluster.demand(cluster.view('a').applied >= applied + 5, 'entries are missing')
    },
  },
  {
    title: 'E14: a learner that is told to campaign does not',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      const learner = cluster.world.recruit()
      if (learner === undefined) cluster.fail('no member to add')
      const peer = { url: 'ws://d', incarnation: 'd-1' }
      cluster.member('a').change({ type: 'add-learner', id: 'd', peer })
      await cluster.settle('a')
      await cluster.run(100)
      const { term } = cluster.view('a')
      cluster.member('a').transfer('d')
      cluster.inject({ type: 'timeoutNow', group: 0, from: 'a', to: 'd', term })
      await cluster.runTimeouts(3)
      cluster.demand(
        cluster.view('d').role === 'learner' && cluster.view('a').term === term,
        'the learner campaigned',
      )
    },
  },
  {
    title: 'T1, R2: a leader that was blocked for ten timeouts answers nothing as leader when it wakes',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      await cluster.mustWrite()
      cluster.pause('a', 10 * cluster.electionTimeout)
      await cluster.run(1)
      const stale = cluster.read('a')
      await cluster.until('another leads', () => cluster.leader() !== 'a', 9 * cluster.electionTimeout)
      await cluster.mustWrite()
      // The laws check that the read is refused or sees the write.
      await cluster.runTimeouts(15)
      cluster.demand(cluster.answer(stale) !== undefined, 'the read was never answered')
    },
  },
  {
    title: 'T2: a follower that was blocked for ten timeouts hears what waited before it campaigns',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      const { term } = cluster.view('a')
      for (let round = 0; round < 5; round++) {
        cluster.pause('b', 10 * cluster.electionTimeout)
        await cluster.runTimeouts(12)
      }
      cluster.demand(cluster.leader() === 'a' && cluster.view('a').term === term, 'the leader changed')
    },
  },
  {
    title: 'T3: wall clocks that step by an hour change nothing',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      const { term } = cluster.view('a')
      cluster.member('a').host.clock.stepWall(3_600_000)
      cluster.member('b').host.clock.stepWall(-3_600_000)
      await cluster.runTimeouts(20)
      await cluster.mustWrite()
      cluster.demand(cluster.leader() === 'a' && cluster.view('a').term === term, 'the leader changed')
    },
  },
]
