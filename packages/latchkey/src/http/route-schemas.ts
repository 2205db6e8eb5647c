// Rule: the JSON schemas of the parameters, bodies and answers of the HTTP routes.
// long: this file is not split, because its schemas share their parts

import { CAPS } from '@latchkey/protocol'

export type Schema = { readonly [name: string]: unknown }

export interface RouteBody {
  /** The fields of a JSON object. 'bytes' means that the body may have any form. */
  readonly fields: Readonly<Record<string, Schema>> | 'bytes'
  readonly required?: readonly string[]
  readonly optional?: boolean
}

const text = (description: string): Schema => ({ type: 'string', description })
const flag = (description: string): Schema => ({ type: 'string', enum: ['true', 'false'], description })
const whole = (description: string, minimum = 0): Schema => ({ type: 'integer', minimum, description })
const duration = (description: string): Schema => ({
  oneOf: [
    { type: 'string', pattern: '^[1-9][0-9]*(ms|s|m|h)$' },
    { type: 'integer', minimum: 1 },
  ],
  description: `${description} Milliseconds, or a text such as 10s.`,
})
const object = (properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema => ({
  type: 'object',
  properties,
  required,
})
const list = (items: Schema): Schema => ({ type: 'array', items })

export const LIST_ROWS = 100

export const PARAMETERS = {
  timeout: text('How long the call may take, 5s by default.'),
  consistency: { type: 'string', enum: ['linearizable', 'stale'], description: 'Default: linearizable.' },
  prefix: text('Only keys that begin with this prefix.'),
  gte: text('Only this key and greater keys.'),
  lt: text('Only keys less than this key.'),
  key: text('Only this key.'),
  after: text(
    'Only keys greater than this key. Give "next" of the previous answer. A key in base64 begins with base64:.',
  ),
  limit: {
    type: 'string',
    pattern: '^[0-9]+$',
    description: `${LIST_ROWS} by default, at most ${CAPS.pageRows}.`,
  },
  keysOnly: flag('Leave out the values.'),
  as: {
    type: 'string',
    enum: ['text', 'base64', 'json'],
    description:
      'The form of values. A value that is not valid in this form is sent in base64. Default: text if the value is UTF-8.',
  },
  ttl: text('How long the key exists, such as 30s.'),
  from: {
    type: 'string',
    pattern: '^[0-9]+$',
    description: 'The first revision to send. Default: the next revision.',
  },
  initial: flag('Send first all present keys, then "synced", then changes.'),
  previous: flag('Send the previous value with each change.'),
  queue: flag('Send the waiters too; true by default.'),
  renewals: flag('Send an event for each renewal too.'),
} satisfies Record<string, Schema>

const VALUE: Schema = {
  oneOf: [
    { ...object({ text: { type: 'string' } }, ['text']), additionalProperties: false },
    { ...object({ base64: { type: 'string' } }, ['base64']), additionalProperties: false },
    { ...object({ json: {} }, ['json']), additionalProperties: false },
  ],
  description: 'A value: exactly one of the fields text, base64 and json.',
}
const KEY = { key: text('A key.'), keyBase64: text('A key that is not UTF-8, in base64, instead of "key".') }
const OPERATION: Schema = {
  type: 'object',
  properties: {
    type: { type: 'string', enum: ['put', 'merge', 'increment', 'delete', 'deleteRange', 'get'] },
    ...KEY,
    value: VALUE,
    ttl: duration('For a put: how long the key exists.'),
    by: { type: 'integer', description: 'For an increment: the number to add.' },
    start: text('For a deleteRange: the first key.'),
    startBase64: text('"start" in base64.'),
    end: text('For a deleteRange: the first key that is not deleted.'),
    endBase64: text('"end" in base64.'),
  },
  required: ['type'],
}
const CONDITION: Schema = {
  type: 'object',
  properties: {
    ...KEY,
    field: { type: 'string', enum: ['value', 'version', 'createRevision', 'modRevision'] },
    is: { type: 'string', enum: ['=', '!=', '<', '>'] },
    value: { description: 'A value, a number, or null, which means that the key does not exist.' },
    as: { type: 'string', enum: ['number'] },
    lock: text('Instead of a key: the condition is true if this lock is held with "token".'),
    lockBase64: text('A lock whose name is not UTF-8, in base64.'),
    token: whole('The fencing token.', 1),
  },
}
const id = text('An id for this hold, for example a random text. Default: the Idempotency-Key.')
const lease = duration('How long the hold lasts without a renewal; 10s by default.')
const wait = duration('How long to wait in the queue. Default: make one attempt without a wait.')
const context = text('A text about the holder, which other callers can read.')
const flow = text(
  'The name of a sequence of calls that run one after the other. If flows would wait for each other in a circle (a deadlock), the wait is refused.',
)
const session = text(
  'A session of this member. The hold ends when the connection of the session closes. See POST /v1/sessions.',
)
const asked = { id, lease, wait, context, flow, session }
const fencingToken = whole('The fencing token in the answer to acquire.', 1)
const owned = { id: text('The id of the hold.'), fencingToken }

export const BODIES = {
  openSession: { fields: {}, optional: true },
  increment: {
    fields: { by: { type: 'integer', description: 'The number to add. Default: 1.' } },
    optional: true,
  },
  touch: { fields: { ttl: duration('How long the key exists from now on.') }, required: ['ttl'] },
  nextSequence: {
    fields: { step: whole('How many numbers the block has, 1 by default.', 1) },
    optional: true,
  },
  getMany: {
    fields: {
      keys: list({ oneOf: [{ type: 'string' }, object({ keyBase64: { type: 'string' } }, ['keyBase64'])] }),
    },
    required: ['keys'],
  },
  batch: { fields: { ops: list(OPERATION) }, required: ['ops'] },
  txn: {
    fields: {
      when: {
        ...list(CONDITION),
        description: 'The conditions. Default: no condition, so "then" is applied.',
      },
      then: list(OPERATION),
      else: list(OPERATION),
    },
  },
  acquire: {
    fields: {
      ...asked,
      mode: { type: 'string', enum: ['exclusive', 'shared'], description: 'Default: exclusive.' },
    },
  },
  acquireSet: {
    fields: {
      ...asked,
      keys: {
        ...list({
          oneOf: [
            { type: 'string' },
            object({ ...KEY, mode: { type: 'string', enum: ['exclusive', 'shared'] } }, []),
          ],
        }),
        minItems: 1,
        maxItems: CAPS.keysOfSet,
      },
    },
    required: ['keys'],
  },
  renewSet: {
    fields: {
      id: owned.id,
      locks: { ...list(object({ ...KEY, fencingToken }, ['fencingToken'])), maxItems: CAPS.keysOfSet },
      lease,
    },
    required: ['id', 'locks'],
  },
  releaseSet: {
    fields: {
      id: owned.id,
      keys: { ...list({ oneOf: [{ type: 'string' }, object(KEY, [])] }), maxItems: CAPS.keysOfSet },
    },
    required: ['id', 'keys'],
  },
  renew: { fields: { ...owned, lease }, required: ['id', 'fencingToken'] },
  release: { fields: owned, required: ['id', 'fencingToken'] },
  forceRelease: {
    fields: {
      fencingToken: {
        ...fencingToken,
        description: 'The fencing token of the hold to end. Default: end all present holds.',
      },
    },
    optional: true,
  },
  transferLeadership: {
    fields: { to: text('The id of the member that leads next. Default: the member that lags least.') },
    optional: true,
  },
  acquirePermits: {
    fields: {
      ...asked,
      of: whole('How many permits the semaphore has.', 1),
      permits: whole('How many permits the caller wants, 1 by default.', 1),
    },
    required: ['of'],
  },
  resize: { fields: { of: whole('How many permits the semaphore has.', 1) }, required: ['of'] },
  createLatch: {
    fields: {
      count: whole(
        'How many times the latch must be counted down until it opens. With 0, the latch is open at once.',
      ),
    },
    required: ['count'],
  },
  countDown: { fields: { by: whole('By how much to count down. Default: 1.', 1) }, optional: true },
  enterBarrier: {
    fields: { parties: whole('How many callers must enter until the barrier opens.', 1) },
    required: ['parties'],
  },
  campaign: { fields: { id, value: VALUE, lease, wait, flow, session } },
  proclaim: { fields: { ...owned, value: VALUE }, required: ['id', 'fencingToken', 'value'] },
} satisfies Record<string, RouteBody>

const revision = whole('A revision of the store.')
const next: Schema = {
  type: ['string', 'null'],
  description: 'Give this text as "after" to get the next page. null means that this is the last page.',
}
const waiters = whole('How many callers wait.')
const NAME = { name: text('A name.'), nameBase64: text('A name that is not UTF-8, in base64.') }
const held = {
  ...owned,
  context,
  contextBase64: text('A context that is not text, in base64.'),
  acquires: whole('How many times the holder must release a reentrant lock.'),
  remainingMillis: { type: 'integer' },
  sinceMillis: whole('For how long the lock has been held.'),
  waiters,
  queue: list(
    object({ id: { type: 'string' }, waitedMillis: whole('For how long the caller has waited.') }, [
      'id',
      'waitedMillis',
    ]),
  ),
} satisfies Record<string, Schema>
const rows = (more: Readonly<Record<string, Schema>>) =>
  list(object({ ...more, ...held }, ['id', 'fencingToken', 'remainingMillis']))
const results: Schema = list({
  description: 'The result of one operation: true, a count, a number, or the entry that a get found.',
})

const MEMBERS = list(
  object(
    {
      id: text('The id of the member.'),
      url: text('The address at which other members connect to the member.'),
      role: { type: 'string', enum: ['voter', 'learner'] },
      lag: whole('How many log entries the member lacks, as far as the leader knows.'),
      alive: { type: 'boolean', description: 'Whether the member that answers is connected to this member.' },
      sinceMillis: whole('For how long "alive" has had this value.'),
    },
    ['id', 'url', 'role'],
  ),
)

const SESSION = object(
  {
    id: whole('The id for /v1/sessions/{id}:end.'),
    openedBy: text('The name of the token, or the address, that opened the session.'),
    lifeMillis: whole('How long the session lasts after the last message of its client.'),
    idleMillis: whole('The time since the last message of the client.'),
    remainingMillis: { type: 'integer' },
    holds: whole('How many holds were requested in the session.'),
    waiters: whole('How many calls of the session wait.'),
  },
  ['id', 'openedBy', 'lifeMillis', 'idleMillis', 'holds', 'waiters'],
)

export const ANSWERS = {
  any: { type: 'object' },
  status: object(
    {
      id: text('The member that answers.'),
      role: { type: 'string', enum: ['leader', 'follower', 'candidate', 'learner'] },
      leader: text('The id of the leader. Missing while the member knows no leader.'),
      term: whole('The term.'),
      commit: whole('The index of the last committed log entry that the member knows.'),
      applied: whole('The index of the last log entry that the member has applied.'),
      clusterTime: whole('The cluster time, in ms.'),
      clusterId: text('The random id of the cluster.'),
      members: MEMBERS,
      version: text('The version of the member that answers.'),
      uptimeMillis: { type: 'number', description: 'For how long the member has been open.' },
      dateMillis: { type: 'number', description: 'The date of the member’s machine, in ms since 1970.' },
    },
    ['id', 'role', 'term', 'commit', 'applied', 'clusterTime', 'members', 'version'],
  ),
  version: object({ version: { type: 'string' } }, ['version']),
  members: object({ leader: { type: ['string', 'null'] }, members: MEMBERS }, ['leader', 'members']),
  identity: object(
    {
      name: { type: 'string' },
      rights: list({ type: 'string', enum: ['read', 'write', 'admin'] }),
      keys: list(object({ prefix: text('The caller may use keys that begin with this prefix.') }, [])),
      locks: list(object({ prefix: text('The caller may use locks that begin with this prefix.') }, [])),
    },
    ['name', 'rights'],
  ),
  sessions: object({ sessions: list(SESSION) }, ['sessions']),
  ended: object({ ended: { type: 'boolean' } }, ['ended']),
  revision: object({ revision }, ['revision']),
  number: object({ value: { type: 'integer' }, revision }, ['value', 'revision']),
  list: object(
    { revision, entries: list(object({ ...KEY, value: VALUE, modRevision: revision }, [])), next },
    ['revision', 'entries', 'next'],
  ),
  values: object({ entries: list({ oneOf: [object({ ...KEY, value: VALUE }, []), { type: 'null' }] }) }, [
    'entries',
  ]),
  batch: object({ revision, results }, ['revision', 'results']),
  txn: object({ succeeded: { type: 'boolean' }, revision, results }, ['succeeded', 'revision', 'results']),
  locks: object({ locks: rows({ ...KEY, mode: { type: 'string' } }), next }, ['locks', 'next']),
  semaphores: object(
    {
      semaphores: rows({ name: { type: 'string' }, permits: whole('How many permits the holder has.') }),
      next,
    },
    ['semaphores', 'next'],
  ),
  owner: object(held, ['id', 'fencingToken']),
  history: object(
    {
      sinceMillis: whole('The list has every change of the last so many ms, and no earlier change.'),
      history: list(
        object(
          {
            type: {
              type: 'string',
              enum: ['acquired', 'rotated', 'released', 'expired', 'queued', 'left'],
            },
            id: text('The id of the holder or of the waiter.'),
            context,
            contextBase64: text('A context that is not text, in base64.'),
            fencingToken: whole('The fencing token of the hold. 0 for a waiter.'),
            revision,
            agoMillis: whole('The time since the change.'),
          },
          ['type', 'id', 'fencingToken', 'revision', 'agoMillis'],
        ),
      ),
    },
    ['sinceMillis', 'history'],
  ),
  hold: object(
    {
      ...owned,
      remainingMillis: whole(
        'How long the caller may rely on the hold, from the moment at which it sent the request.',
      ),
    },
    ['id', 'fencingToken', 'remainingMillis'],
  ),
  set: object(
    {
      id: text('The id of the holds.'),
      locks: list(object({ ...KEY, fencingToken }, ['fencingToken'])),
      remainingMillis: whole(
        'How long the caller may rely on all holds, from the moment at which it sent the request.',
      ),
    },
    ['id', 'locks', 'remainingMillis'],
  ),
  releasedSet: object({ id: text('The id of the holds.'), released: whole('How many holds ended.') }, [
    'id',
    'released',
  ]),
  released: object({ ...owned, acquires: { type: 'integer' } }, ['id', 'fencingToken']),
  forced: object({ released: whole('How many holds ended.') }, ['released']),
  sequence: object({ next: whole('The start of the next block.') }, ['next']),
  block: object({ start: whole('The first number.'), end: whole('The last number plus 1.') }, [
    'start',
    'end',
  ]),
  latches: object(
    {
      latches: list(
        object(
          {
            ...NAME,
            count: whole('How many times the latch must still be counted down. 0 means that it is open.'),
            waiters,
          },
          ['count', 'waiters'],
        ),
      ),
      next,
    },
    ['latches', 'next'],
  ),
  barriers: object(
    {
      barriers: list(
        object(
          {
            ...NAME,
            generation: whole(
              'The number of the generation that the callers wait for. The first generation is 1.',
            ),
            parties: whole('How many callers must enter until the barrier opens.'),
            waiters,
          },
          ['generation', 'parties', 'waiters'],
        ),
      ),
      next,
    },
    ['barriers', 'next'],
  ),
  created: object(
    {
      created: {
        type: 'boolean',
        description: 'False means that a latch of that name already exists. It does not change.',
      },
    },
    ['created'],
  ),
  left: object(
    { left: whole('How many times the latch must still be counted down. 0 means that it is open.') },
    ['left'],
  ),
  open: object({ open: { type: 'boolean' } }, ['open']),
  entered: object(
    {
      generation: whole('The number of the generation. The first generation of a barrier is 1.'),
      index: whole('The position of the caller in the order of arrival, from 0.'),
    },
    ['generation', 'index'],
  ),
  leader: object(
    { ...owned, value: { oneOf: [VALUE, { type: 'null' }] }, remainingMillis: { type: 'integer' } },
    ['id', 'fencingToken', 'value'],
  ),
} satisfies Record<string, Schema>
