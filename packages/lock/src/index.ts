// Rule: exports the lock rules, the lock objects, and the port of lock engines.
export * from './rules/index.js'
export * from './holding/index.js'
export * from './engines/index.js'
