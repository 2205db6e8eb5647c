// Rule: the SQL of the table of locks and of its functions. Each function is one atomic step of the engine. A
// function first locks the row of the lock, and then reads the database's clock.
//
// The table has one row for each lock, with place 0, and one row for each waiter, in the order of `place`.
// The lock's row stays after a release. `deadline` is in milliseconds of the database's clock. In the lock's
// row, `deadline` is the end of the lease. In a waiter's row, `deadline` is the time at which the waiter
// leaves the queue, if the waiter does not ask again before.
//
// Law: a function that changes the lock's row locks the row FOR NO KEY UPDATE. A function that gives the row
// a new token locks the row FOR UPDATE. A guard locks the row FOR KEY SHARE, which conflicts only with FOR
// UPDATE. So the next holder gets its token only after the guarded transaction has ended. Otherwise: a
// transaction passes its guard, and then the lease ends. Another client gets the lock and writes, and then
// the first transaction commits. But renewals and releases never wait for a guarded transaction. Otherwise: a
// transaction that lasts longer than the lease blocks its own renewal and loses the lock.

import { show } from '@latchkey/protocol'

/**
 * In ms. The guarded transaction of the last holder may still be open after the lease has ended. The first
 * waiter then asks again after this time.
 */
const BEHIND_GUARD = 100
/**
 * How long a statement waits for a lock on a row before the statement fails. A caller waits 5 s for one
 * attempt, and a statement must not run longer than its caller waits.
 */
const LOCK_TIMEOUT = '3s'

/** The SQLSTATE with which a guard fails if the lock is not held. LKFEN is short for "latchkey, fenced". */
export const FENCED_STATE = 'LKFEN'

/** `table` is a name that tableArg has checked. `waiters` is the largest number of waiters of one lock. */
export function schemaSql(table: string, waiters: number): string {
  const parts = [
    tables(table),
    helpers(table),
    take(table, waiters),
    renew(table),
    release(table),
    cancel(table),
    others(table),
    guard(table),
  ]
  return parts.join('\n')
}

const tables = (t: string) => `
CREATE TABLE IF NOT EXISTS ${t} (
  key bytea NOT NULL,
  place bigint NOT NULL,
  id text,
  token bigint NOT NULL DEFAULT 0,
  acquires integer NOT NULL DEFAULT 0,
  deadline bigint NOT NULL DEFAULT 0,
  since bigint NOT NULL DEFAULT 0,
  context bytea,
  is_text boolean NOT NULL DEFAULT false,
  PRIMARY KEY (key, place)
);
CREATE SEQUENCE IF NOT EXISTS ${t}_numbers;
`

const MILLIS = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

const helpers = (t: string) => `
CREATE OR REPLACE FUNCTION ${t}_wake(p_key bytea, p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  next text;
BEGIN
  SELECT id INTO next FROM ${t}
    WHERE key = p_key AND place > 0 AND deadline >= p_now ORDER BY place LIMIT 1;
  IF next IS NOT NULL THEN PERFORM pg_notify('${channelOf(t)}', next); END IF;
END $$;
`

/** The columns that most functions return. If the lock has no hold, the columns from `id` on are null. */
const ANSWER = `now bigint, code text, id text, token bigint, deadline bigint, acquires integer, context bytea, is_text boolean`
const answerOf = (row: string) =>
  `${row}.id, ${row}.token, ${row}.deadline, ${row}.acquires, ${row}.context, ${row}.is_text`
const NO_HOLD = 'NULL::text, NULL::bigint, NULL::bigint, NULL::integer, NULL::bytea, NULL::boolean'
const settings = `SET lock_timeout = '${LOCK_TIMEOUT}'`

const take = (t: string, waiters: number) => `
CREATE OR REPLACE FUNCTION ${t}_take(
  p_key bytea, p_id text, p_lease bigint, p_context bytea, p_is_text boolean,
  p_queues boolean, p_patience bigint, p_before bigint
) RETURNS TABLE (${ANSWER}, queued boolean, again bigint) LANGUAGE plpgsql ${settings} AS $$
#variable_conflict use_column
DECLARE
  r ${t}%ROWTYPE;
  first ${t}%ROWTYPE;
  ms bigint;
  is_free boolean;
BEGIN
  LOOP
    INSERT INTO ${t} (key, place) VALUES (p_key, 0) ON CONFLICT DO NOTHING;
    SELECT * INTO r FROM ${t} WHERE key = p_key AND place = 0 FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
  END LOOP;
  ms := ${MILLIS};
  IF ms > p_before THEN
    RETURN QUERY SELECT ms, 'LATE', ${NO_HOLD}, false, NULL::bigint;
    RETURN;
  END IF;
  is_free := r.id IS NULL OR ms > r.deadline;
  IF NOT is_free AND r.id = p_id THEN
    UPDATE ${t} SET acquires = r.acquires + 1, deadline = greatest(r.deadline, ms + p_lease),
        context = coalesce(p_context, r.context),
        is_text = CASE WHEN p_context IS NULL THEN r.is_text ELSE p_is_text END
      WHERE key = p_key AND place = 0 RETURNING * INTO r;
    RETURN QUERY SELECT ms, 'REENTRANT', ${answerOf('r')}, false, NULL::bigint;
    RETURN;
  END IF;
  DELETE FROM ${t} WHERE key = p_key AND place > 0 AND deadline < ms;
  SELECT * INTO first FROM ${t} WHERE key = p_key AND place > 0 ORDER BY place LIMIT 1;
  IF is_free AND (first.id IS NULL OR first.id = p_id) THEN
    PERFORM 1 FROM ${t} WHERE key = p_key AND place = 0 FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
      IF first.id = p_id THEN DELETE FROM ${t} WHERE key = p_key AND place = first.place; END IF;
      RETURN QUERY
        UPDATE ${t} AS l SET id = p_id, token = nextval('${t}_numbers'), acquires = 1,
            deadline = ms + p_lease, since = ms, context = p_context, is_text = p_is_text
          WHERE l.key = p_key AND l.place = 0
          RETURNING ms, CASE WHEN r.id IS NULL THEN 'FIRST_TIME' ELSE 'NEW_ACQUIRE' END,
            ${answerOf('l')}, false, NULL::bigint;
      RETURN;
    END IF;
  END IF;
  IF p_queues THEN
    UPDATE ${t} SET deadline = ms + p_patience WHERE key = p_key AND place > 0 AND id = p_id;
    IF NOT FOUND THEN
      PERFORM 1 FROM ${t} WHERE key = p_key AND place > 0 OFFSET ${waiters - 1} LIMIT 1;
      IF FOUND THEN RAISE EXCEPTION 'too many wait for this lock' USING ERRCODE = '53400'; END IF;
      INSERT INTO ${t} (key, place, id, deadline, since, context, is_text)
        VALUES (p_key, nextval('${t}_numbers'), p_id, ms + p_patience, ms, p_context, p_is_text);
    END IF;
  END IF;
  RETURN QUERY SELECT ms, 'HELD', ${answerOf('r')}, p_queues,
    CASE WHEN first.id IS NOT NULL AND first.id <> p_id THEN NULL
      WHEN is_free THEN ${BEHIND_GUARD}::bigint ELSE r.deadline + 1 - ms END;
END $$;
`

/** Locks the rows in the order of their keys, so that two renewals of several locks never deadlock. */
const renew = (t: string) => `
CREATE OR REPLACE FUNCTION ${t}_renew(p_keys bytea[], p_ids text[], p_leases bigint[])
RETURNS TABLE (nth integer, ${ANSWER}) LANGUAGE plpgsql ${settings} AS $$
#variable_conflict use_column
DECLARE
  one record;
  r ${t}%ROWTYPE;
  ms bigint;
BEGIN
  FOR one IN SELECT u.k, u.i, u.l, u.n::integer AS n
    FROM unnest(p_keys, p_ids, p_leases) WITH ORDINALITY AS u(k, i, l, n) ORDER BY u.k, u.n
  LOOP
    SELECT * INTO r FROM ${t} WHERE key = one.k AND place = 0 FOR NO KEY UPDATE;
    ms := ${MILLIS};
    IF r.id = one.i AND ms <= r.deadline THEN
      RETURN QUERY
        UPDATE ${t} AS l SET deadline = greatest(l.deadline, ms + one.l) WHERE l.key = one.k AND l.place = 0
          RETURNING one.n, ms, 'KEEP_LEASE', ${answerOf('l')};
    ELSE
      RETURN QUERY SELECT one.n, ms, 'KEEP_LEASE_FAIL', ${NO_HOLD};
    END IF;
  END LOOP;
END $$;
`

const release = (t: string) => `
CREATE OR REPLACE FUNCTION ${t}_release(p_key bytea, p_id text, p_all boolean)
RETURNS TABLE (${ANSWER}) LANGUAGE plpgsql ${settings} AS $$
#variable_conflict use_column
DECLARE
  r ${t}%ROWTYPE;
  ms bigint;
BEGIN
  SELECT * INTO r FROM ${t} WHERE key = p_key AND place = 0 FOR NO KEY UPDATE;
  ms := ${MILLIS};
  IF r.id IS NULL THEN
    RETURN QUERY SELECT ms, 'NOT_HELD', ${NO_HOLD};
  ELSIF ms > r.deadline THEN
    RETURN QUERY SELECT ms, CASE WHEN r.id = p_id THEN 'EXPIRED' ELSE 'NOT_HELD' END, ${answerOf('r')};
  ELSIF r.id <> p_id THEN
    RETURN QUERY SELECT ms, 'NOT_OWNER', ${answerOf('r')};
  ELSIF r.acquires > 1 AND NOT p_all THEN
    UPDATE ${t} SET acquires = r.acquires - 1 WHERE key = p_key AND place = 0 RETURNING * INTO r;
    RETURN QUERY SELECT ms, 'DECREMENTED', ${answerOf('r')};
  ELSE
    UPDATE ${t} SET id = NULL, acquires = 0, deadline = 0 WHERE key = p_key AND place = 0;
    PERFORM ${t}_wake(p_key, ms);
    RETURN QUERY SELECT ms, 'RELEASED', ${answerOf('r')};
  END IF;
END $$;
`

const cancel = (t: string) => `
CREATE OR REPLACE FUNCTION ${t}_cancel(p_keys bytea[], p_ids text[])
RETURNS TABLE (nth integer, now bigint, token bigint) LANGUAGE plpgsql ${settings} AS $$
#variable_conflict use_column
DECLARE
  one record;
  r ${t}%ROWTYPE;
  ms bigint;
  is_held boolean;
BEGIN
  FOR one IN SELECT u.k, u.i, u.n::integer AS n
    FROM unnest(p_keys, p_ids) WITH ORDINALITY AS u(k, i, n) ORDER BY u.k, u.n
  LOOP
    SELECT * INTO r FROM ${t} WHERE key = one.k AND place = 0 FOR NO KEY UPDATE;
    ms := ${MILLIS};
    DELETE FROM ${t} WHERE key = one.k AND place > 0 AND id = one.i;
    is_held := r.id = one.i AND ms <= r.deadline;
    IF is_held THEN
      UPDATE ${t} SET id = NULL, acquires = 0, deadline = 0 WHERE key = one.k AND place = 0;
    END IF;
    IF is_held OR r.id IS NULL OR ms > r.deadline THEN PERFORM ${t}_wake(one.k, ms); END IF;
    RETURN QUERY SELECT one.n, ms, CASE WHEN is_held THEN r.token ELSE 0 END;
  END LOOP;
END $$;
`

const others = (t: string) => `
CREATE OR REPLACE FUNCTION ${t}_rotate(p_key bytea, p_id text)
RETURNS TABLE (${ANSWER}) LANGUAGE plpgsql ${settings} AS $$
#variable_conflict use_column
DECLARE
  r ${t}%ROWTYPE;
  ms bigint;
BEGIN
  SELECT * INTO r FROM ${t} WHERE key = p_key AND place = 0 FOR UPDATE;
  ms := ${MILLIS};
  IF r.id = p_id AND ms <= r.deadline THEN
    RETURN QUERY
      UPDATE ${t} AS l SET token = nextval('${t}_numbers') WHERE l.key = p_key AND l.place = 0
        RETURNING ms, 'KEEP_LEASE', ${answerOf('l')};
  ELSE
    RETURN QUERY SELECT ms, 'KEEP_LEASE_FAIL', ${NO_HOLD};
  END IF;
END $$;

CREATE OR REPLACE FUNCTION ${t}_force_release(p_key bytea, p_token bigint)
RETURNS TABLE (now bigint, ended boolean) LANGUAGE plpgsql ${settings} AS $$
#variable_conflict use_column
DECLARE
  r ${t}%ROWTYPE;
  ms bigint;
  is_held boolean;
BEGIN
  SELECT * INTO r FROM ${t} WHERE key = p_key AND place = 0 FOR NO KEY UPDATE;
  ms := ${MILLIS};
  is_held := r.id IS NOT NULL AND ms <= r.deadline AND r.token = p_token;
  IF is_held THEN
    UPDATE ${t} SET id = NULL, acquires = 0, deadline = 0 WHERE key = p_key AND place = 0;
    PERFORM ${t}_wake(p_key, ms);
  END IF;
  RETURN QUERY SELECT ms, coalesce(is_held, false);
END $$;
`

const guard = (t: string) => `
-- Call this function inside a transaction. It returns true, or it fails and so ends the transaction. Until the transaction ends, no other client gets the lock.
CREATE OR REPLACE FUNCTION ${t}_guard(p_key bytea, p_token bigint) RETURNS boolean LANGUAGE plpgsql ${settings} AS $$
DECLARE
  r ${t}%ROWTYPE;
BEGIN
  SELECT * INTO r FROM ${t} WHERE key = p_key AND place = 0 FOR KEY SHARE;
  IF r.id IS NULL OR r.token <> p_token OR ${MILLIS} > r.deadline THEN
    RAISE EXCEPTION 'the lock % is not held with the token %', encode(p_key, 'escape'), p_token
      USING ERRCODE = '${FENCED_STATE}', HINT = 'Another caller holds the lock, or the lease has ended. Roll back, and take the lock again.';
  END IF;
  RETURN true;
END $$;
CREATE OR REPLACE FUNCTION ${t}_guard(p_key text, p_token bigint) RETURNS boolean LANGUAGE sql AS $$
  SELECT ${t}_guard(convert_to(p_key, 'UTF8'), p_token)
$$;
`

/** A channel has no schema. */
export const channelOf = (table: string): string => table.replace('.', '_')

const NAME = /^[a-z_][a-z0-9_]{0,30}(\.[a-z_][a-z0-9_]{0,30})?$/

/** Checks the name of the table, because the name becomes a part of SQL statements. */
export function tableArg(table: unknown): string {
  if (table === undefined) return 'latchkey_locks'
  if (typeof table === 'string' && NAME.test(table)) return table
  throw new TypeError(
    `table must be a name such as locks or app.locks, in small letters, of up to 31 characters a part; got ${show(table)}`,
  )
}
