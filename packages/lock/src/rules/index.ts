// Rule: the lock rules, pure, over a transaction.
export type { HoldRow, LockTransaction, WaiterRow } from './port.js'
