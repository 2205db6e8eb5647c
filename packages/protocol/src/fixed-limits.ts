// Rule: the limits of Latchkey, each with what happens beyond the limit.

const KiB = 1024
const MiB = 1024 * KiB

export const CAPS = {
  /** The most bytes of a key. A longer key is refused with ERR_TOO_LARGE. */
  keyBytes: 4 * KiB,
  /** The most bytes of a value. A longer value is refused with ERR_TOO_LARGE. */
  valueBytes: 1 * MiB,
  /** The most bytes of the context of a hold. A longer context is refused with ERR_TOO_LARGE. */
  contextBytes: 4 * KiB,
  /**
   * The most bytes of a txn's digest. A txn with `once` is applied only once, and its digest shows whether a
   * repeated txn has the same content. A longer digest is refused with ERR_PROTOCOL.
   */
  digestBytes: 64,
  /** The most bytes of one command. The member that receives a longer command answers ERR_TOO_LARGE. */
  commandBytes: 4 * MiB,
  /**
   * The most rows of one command (command-row-limits.ts): the keys, conditions and steps that the command
   * names, and the rows that its deleteRange steps delete. A larger command is refused with ERR_TOO_LARGE
   * when it is received or when it is applied, and changes nothing.
   */
  commandRows: 20_000,
  /**
   * The most holds and waiters in the answer to one lockQuery. Beyond this number the query fails with
   * ERR_TOO_LARGE.
   */
  queryLines: 100_000,
  /**
   * The most holds that one command renews or releases. A member applies a command in one turn of the event
   * loop, so a larger command would delay all other requests. Clients send further commands for more holds.
   */
  commandHolds: 2_048,
  /**
   * The most deleteRange steps of a batch or txn. Beyond this number the call fails with ERR_TOO_LARGE. A
   * single deleteRange call has no limit.
   */
  commandRanges: 128,
  /**
   * The most bytes of keys and values that one command may read. Beyond this number the command fails with
   * ERR_TOO_LARGE.
   */
  commandReadBytes: 16 * MiB,
  /**
   * The most bytes of the events of one command: keys, new values and previous values. Beyond this number the
   * command fails with ERR_TOO_LARGE.
   */
  commandWriteBytes: 16 * MiB,
  /** The most bytes of one entry of the log. The leader begins a new entry before an entry becomes larger. */
  entryBytes: 8 * MiB,
  /**
   * The most bytes of a frame between processes. A longer message is sent in several frames, so that a
   * heartbeat waits for at most one frame.
   */
  frameBytes: 256 * KiB,
  /** The most bytes of one message of a WebSocket. A longer message closes the connection. */
  maxPayload: 16 * MiB,
  /**
   * The most values in a frame of a client, or in one command. Each element of a list counts as a value. A
   * frame with more values is refused with ERR_PROTOCOL.
   */
  values: 2 ** 18,
  /**
   * The most values in an answer to a client: enough for some hundred thousand locks. The client closes the
   * connection to a member that sends more values.
   */
  answerValues: 2 ** 22,
  /**
   * The most connections of one port. Beyond this number the member closes the oldest connection without
   * credentials, or refuses the new connection. A part of the number is reserved for connections of members.
   */
  connections: 10_000,
  /** The most unanswered requests of one HTTP connection. The member closes a connection with more. */
  unansweredRequests: 16,
  /**
   * The most bytes of incomplete WebSocket messages and HTTP bodies from all clients of a member. Beyond this
   * number the member closes a connection that has more than an equal share of the bytes. Each incomplete
   * message must also grow by `unfinishedBytesASecond`, measured over 5 s.
   */
  unfinishedBytes: 64 * MiB,
  unfinishedBytesASecond: 64 * KiB,
  /**
   * The most traced requests that a member serves at the same time, for one connection and for all
   * connections. The member serves a further request without a span and a log line.
   */
  tracedRequestsOfOne: 1_024,
  tracedRequests: 16_384,
  /** The most waiters of one lock. A further waiter is refused with ERR_BUSY. */
  waiters: 10_000,
  /** The most permits of one semaphore. */
  permits: 1_000_000,
  /** The most keys of one acquireAll. */
  keysOfSet: 64,
  /** The most bytes of the name of a flow. A flow is the chain of nested lock requests of one caller. */
  flowBytes: 256,
  /**
   * The most holds that a request for a lock names. The request names the holds of the caller's flow, the
   * innermost hold first, so that members can find deadlocks.
   */
  holdsOfFlow: 16,
  /** The most latches of a store. A further latch is refused with ERR_BUSY. */
  latches: 100_000,
  /**
   * The most barriers of a store. Beyond the limit a new barrier replaces another one: of the barriers at
   * which no caller waits, the least recently used. If callers wait at all barriers, the answer is ERR_BUSY.
   */
  barriers: 10_000,
  /**
   * The most parties of one latch or barrier. A party is one call that waits there. A further party is
   * refused with ERR_BUSY. A call that names more parties for a barrier gets a TypeError.
   */
  partiesOfOne: 10_000,
  /**
   * The most parties of all latches and barriers together. A party is one call that waits there. A party
   * whose wait has ended counts until its client has confirmed the end. A further party is refused with
   * ERR_BUSY.
   */
  parties: 20_000,
  /**
   * The largest id of a session, and the largest number of a call. Records of the log, and the keys of rows,
   * have 48 bits for these numbers. A larger number is refused with ERR_PROTOCOL.
   */
  recordNumber: 2 ** 48 - 1,
  /**
   * The largest term, index, time or round in messages between members. It equals the limit of session ids,
   * because the index of an entry becomes the id of a session. A member closes a connection that sends a
   * larger number.
   */
  memberNumber: 2 ** 48 - 1,
  /**
   * The most sessions of a store, and the most sessions of one identity. Beyond the limit the store ends an
   * idle session without holds, or refuses the new session with ERR_BUSY.
   */
  sessions: 10_000,
  sessionsOfOne: 5_000,
  /**
   * The most sessions of HTTP connections at one member, the most of one identity, and the most holds of one
   * such session. Beyond a limit the member answers ERR_BUSY.
   */
  callerSessions: 1_000,
  callerSessionsOfOne: 500,
  callerSessionHolds: 128,
  /**
   * In ms of cluster time. A session whose client has sent no message for this long is idle, and may be ended
   * to make room for a new session.
   */
  sessionIdleMillis: 15_000,
  /** In ms, the longest time that a session may stay open without a message. A longer time is a TypeError. */
  maxSessionLife: 24 * 60 * 60 * 1000,
  /** The most characters of the stored name of the identity that opened a session. A longer name is cut. */
  identityLength: 128,
  /**
   * The most stored answers of a session. At the limit the client waits before it sends a further call, and
   * the call may fail with ERR_BUSY.
   */
  sessionNumbers: 1_024,
  /**
   * The most bytes of the stored answers of a session. At the limit the client waits before it sends a
   * further call, and the call may fail with ERR_BUSY.
   */
  sessionAnswerBytes: 4 * MiB,
  /**
   * The most events, and the most bytes of events, that a member keeps for watches. Beyond a limit the member
   * drops the oldest events.
   */
  events: 100_000,
  eventBytes: 64 * MiB,
  /**
   * The most keys of a multiGet, and the most bytes that a multiGet or a query of locks returns. A larger
   * read is refused with ERR_TOO_LARGE, because a member makes the whole answer in one turn of the event
   * loop.
   */
  readKeys: 4_096,
  readBytes: 16 * MiB - 256 * KiB,
  /**
   * The most access tokens of a member, the most key prefixes of one access token, and the most bytes of the
   * file of access tokens. A larger file is a TypeError.
   */
  tokens: 1_000,
  prefixes: 64,
  tokensFile: 1 * MiB,
  /** In ms, the shortest and the longest lease. Any other lease is a TypeError. */
  minLease: 50,
  maxLease: 30 * 24 * 60 * 60 * 1000,
  /** In ms, the longest ttl of a key: about 4,000 years. A longer ttl is reduced to this value. */
  maxLife: 2 ** 47 - 1,
  /** The most rows, and the most bytes, of a page of a scan or an iteration. */
  pageRows: 1_000,
  pageBytes: 1 * MiB,
} as const
