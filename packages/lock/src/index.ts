// Rule: what this package offers: the lock rules, and the objects people hold.
export * from './rules/index.js'
export * from './holding/index.js'
