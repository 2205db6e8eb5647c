// Rule: exports the lock rules and the lock objects.
export * from './rules/index.js'
export * from './holding/index.js'
