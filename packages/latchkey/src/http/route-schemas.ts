// Rule: the JSON schemas of the parameters, bodies and answers of the HTTP routes.

import { CAPS } from '@latchkey/protocol'

export type Schema = { readonly [name: string]: unknown }

export interface RouteBody {
  /** The fields of a JSON object, or 'bytes' for a body that is any sequence of bytes. */
  readonly fields: Readonly<Record<string, Schema>> | 'bytes'
  readonly required?: readonly string[]
  /** True if the request may have no body. */
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

/** How many rows a page has if the caller gives no limit. */
export const LIST_ROWS = 100

export const PARAMETERS = {
  timeout: text('How long the call may take, 5s by default.'),
  consistency: { type: 'string', enum: ['linearizable', 'stale'], description: 'Default: linearizable.' },
  prefix: text('Only keys that begin with it.'),
  gte: text('Only this key and greater ones.'),
  lt: text('Only lesser keys.'),
  key: text('Only this key.'),
  after: text('Only greater keys: "next" of the answer before. base64: before it is base64.'),
  limit: {
    type: 'string',
    pattern: '^[0-9]+$',
    description: `${LIST_ROWS} by default, at most ${CAPS.pageRows}.`,
  },
  keysOnly: flag('Without values.'),
  as: {
    type: 'string',
    enum: ['text', 'base64', 'json'],
    description:
      'The form of values. A value that has not this form is base64. Default: text where it is UTF-8.',
  },
  ttl: text('How long the key exists, such as 30s.'),
  from: { type: 'string', pattern: '^[0-9]+$', description: 'The first revision. Default: the next one.' },
  initial: flag('First all present keys, then "synced", then changes.'),
  previous: flag('With the value before.'),
  queue: flag('With the callers that wait; true by default.'),
  renewals: flag('With each renewal.'),
} satisfies Record<string, Schema>

const VALUE: Schema = {
  oneOf: [
    { ...object({ text: { type: 'string' } }, ['text']), additionalProperties: false },
    { ...object({ base64: { type: 'string' } }, ['base64']), additionalProperties: false },
    { ...object({ json: {} }, ['json']), additionalProperties: false },
  ],
  description: 'A value: exactly one of text, base64 and json.',
}
const KEY = { key: text('A key.'), keyBase64: text('A key that is no text, in base64, in place of "key".') }
const OPERATION: Schema = {
  type: 'object',
  properties: {
    type: { type: 'string', enum: ['put', 'merge', 'increment', 'delete', 'deleteRange', 'get'] },
    ...KEY,
    value: VALUE,
    ttl: duration('Of a put: how long the key exists.'),
    by: { type: 'integer', description: 'Of an increment.' },
    start: text('Of a deleteRange.'),
    startBase64: text('Of a deleteRange.'),
    end: text('Of a deleteRange, exclusive.'),
    endBase64: text('Of a deleteRange, exclusive.'),
  },
  required: ['type'],
}
const CONDITION: Schema = {
  type: 'object',
  properties: {
    ...KEY,
    field: { type: 'string', enum: ['value', 'version', 'createRevision', 'modRevision'] },
    is: { type: 'string', enum: ['=', '!=', '<', '>'] },
    value: { description: 'A value, a number, or null: the key is absent.' },
    as: { type: 'string', enum: ['number'] },
    lock: text('In place of a key: this lock is held with "token".'),
    lockBase64: text('A lock whose name is no text, in base64.'),
    token: whole('The fencing token.', 1),
  },
}
const id = text('A name of this one hold: draw a random one. Default: the Idempotency-Key.')
const lease = duration('How long the hold lasts without a renewal; 10s by default.')
const wait = duration('How long to wait in the queue. Default: one attempt.')
const context = text('What others are told about the holder.')
const flow = text(
  'What does one thing after the other; a wait that would close a circle of flows is refused.',
)
const session = text('A session of this member: the hold ends with its connection. See POST /v1/sessions.')
const asked = { id, lease, wait, context, flow, session }
const fencingToken = whole('The token that acquire answered.', 1)
const owned = { id: text('The id of the hold.'), fencingToken }

export const BODIES = {
  openSession: { fields: {}, optional: true },
  increment: { fields: { by: { type: 'integer', description: 'Default: 1.' } }, optional: true },
  touch: { fields: { ttl: duration('How long the key exists from now on.') }, required: ['ttl'] },
  nextSequence: { fields: { step: whole('How many numbers, 1 by default.', 1) }, optional: true },
  getMany: {
    fields: {
      keys: list({ oneOf: [{ type: 'string' }, object({ keyBase64: { type: 'string' } }, ['keyBase64'])] }),
    },
    required: ['keys'],
  },
  batch: { fields: { ops: list(OPERATION) }, required: ['ops'] },
  txn: {
    fields: {
      when: { ...list(CONDITION), description: 'Default: none, which is true.' },
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
    fields: { fencingToken: { ...fencingToken, description: 'Only that hold. Default: every present one.' } },
    optional: true,
  },
  transferLeadership: {
    fields: { to: text('The id of the member that leads next. Default: the one that lags least.') },
    optional: true,
  },
  acquirePermits: {
    fields: {
      ...asked,
      of: whole('How many permits the semaphore has.', 1),
      permits: whole('How many are wanted, 1 by default.', 1),
    },
    required: ['of'],
  },
  resize: { fields: { of: whole('How many permits the semaphore has.', 1) }, required: ['of'] },
  createLatch: {
    fields: { count: whole('How often it is to be counted down. 0: it is open at once.') },
    required: ['count'],
  },
  countDown: { fields: { by: whole('Default: 1.', 1) }, optional: true },
  enterBarrier: {
    fields: { parties: whole('How many have to come.', 1) },
    required: ['parties'],
  },
  campaign: { fields: { id, value: VALUE, lease, wait, flow, session } },
  proclaim: { fields: { ...owned, value: VALUE }, required: ['id', 'fencingToken', 'value'] },
} satisfies Record<string, RouteBody>

const revision = whole('A revision of the store.')
const next: Schema = {
  type: ['string', 'null'],
  description: 'Where the next page begins: give it as "after". null: there is no more.',
}
const waiters = whole('How many wait.')
const NAME = { name: text('A name.'), nameBase64: text('A name that is no text, in base64.') }
const held = {
  ...owned,
  context,
  contextBase64: text('A context that is no text.'),
  acquires: whole('How often it was acquired.'),
  remainingMillis: { type: 'integer' },
  sinceMillis: whole('For how long it has been held.'),
  waiters,
  queue: list(
    object({ id: { type: 'string' }, waitedMillis: whole('For how long.') }, ['id', 'waitedMillis']),
  ),
} satisfies Record<string, Schema>
const rows = (more: Readonly<Record<string, Schema>>) =>
  list(object({ ...more, ...held }, ['id', 'fencingToken', 'remainingMillis']))
const results: Schema = list({ description: 'true, a count, a number, or what a get found.' })

const MEMBERS = list(
  object(
    {
      id: text('The id of the member.'),
      url: text('Where the others dial it.'),
      role: { type: 'string', enum: ['voter', 'learner'] },
      lag: whole('How many entries it lacks, as the leader knows it.'),
      alive: { type: 'boolean', description: 'Whether the member that answers is connected with it.' },
      sinceMillis: whole('For how long that has been so.'),
    },
    ['id', 'url', 'role'],
  ),
)

const SESSION = object(
  {
    id: whole('Give it to /v1/sessions/{id}:end.'),
    openedBy: text('The name of the token, or the address, that opened it.'),
    lifeMillis: whole('How long it lives after the last message of its client.'),
    idleMillis: whole('The time since that message.'),
    remainingMillis: { type: 'integer' },
    holds: whole('How many holds were requested in it.'),
    waiters: whole('How many of its calls wait.'),
  },
  ['id', 'openedBy', 'lifeMillis', 'idleMillis', 'holds', 'waiters'],
)

export const ANSWERS = {
  any: { type: 'object' },
  status: object(
    {
      id: text('The member that answers.'),
      role: { type: 'string', enum: ['leader', 'follower', 'candidate', 'learner'] },
      leader: text('Left out while it knows no leader.'),
      term: whole('The term.'),
      commit: whole('The log is committed up to here.'),
      applied: whole('It is applied here up to here.'),
      clusterTime: whole('In ms.'),
      clusterId: text('The random id of the cluster.'),
      members: MEMBERS,
      version: text('Of the member that answers.'),
      uptimeMillis: { type: 'number', description: 'For how long it has been open.' },
      dateMillis: { type: 'number', description: 'The date of its machine, in ms since 1970.' },
    },
    ['id', 'role', 'term', 'commit', 'applied', 'clusterTime', 'members', 'version'],
  ),
  version: object({ version: { type: 'string' } }, ['version']),
  members: object({ leader: { type: ['string', 'null'] }, members: MEMBERS }, ['leader', 'members']),
  identity: object(
    {
      name: { type: 'string' },
      rights: list({ type: 'string', enum: ['read', 'write', 'admin'] }),
      keys: list(object({ prefix: text('It may use keys that begin with it.') }, [])),
      locks: list(object({ prefix: text('It may use locks that begin with it.') }, [])),
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
  semaphores: object({ semaphores: rows({ name: { type: 'string' }, permits: whole('Held.') }), next }, [
    'semaphores',
    'next',
  ]),
  owner: object(held, ['id', 'fencingToken']),
  history: object(
    {
      sinceMillis: whole('Every change of the last so many milliseconds is there, and none before.'),
      history: list(
        object(
          {
            type: {
              type: 'string',
              enum: ['acquired', 'rotated', 'released', 'expired', 'queued', 'left'],
            },
            id: text('Of the holder, or of the caller that waits.'),
            context,
            contextBase64: text('A context that is no text.'),
            fencingToken: whole('0 of a caller that waits.'),
            revision,
            agoMillis: whole('The time since the change.'),
          },
          ['type', 'id', 'fencingToken', 'revision', 'agoMillis'],
        ),
      ),
    },
    ['sinceMillis', 'history'],
  ),
  hold: object({ ...owned, remainingMillis: whole('Counts from the moment the request was sent.') }, [
    'id',
    'fencingToken',
    'remainingMillis',
  ]),
  set: object(
    {
      id: text('The id of the holds.'),
      locks: list(object({ ...KEY, fencingToken }, ['fencingToken'])),
      remainingMillis: whole('Of the lock that ends first; counts from the moment the request was sent.'),
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
  block: object({ start: whole('The first number.'), end: whole('Behind the last one.') }, ['start', 'end']),
  latches: object(
    {
      latches: list(
        object({ ...NAME, count: whole('What it has still to count; 0: it is open.'), waiters }, [
          'count',
          'waiters',
        ]),
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
            generation: whole('The one that they wait for.'),
            parties: whole('How many have to come.'),
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
    { created: { type: 'boolean', description: 'false: there is one of that name, which stays as it is.' } },
    ['created'],
  ),
  left: object({ left: whole('What is left to count; 0: it is open.') }, ['left']),
  open: object({ open: { type: 'boolean' } }, ['open']),
  entered: object(
    { generation: whole('How often it has opened.'), index: whole('The order of arrival, from 0.') },
    ['generation', 'index'],
  ),
  leader: object(
    { ...owned, value: { oneOf: [VALUE, { type: 'null' }] }, remainingMillis: { type: 'integer' } },
    ['id', 'fencingToken', 'value'],
  ),
} satisfies Record<string, Schema>
