// Rule: what `latchkey/testing` offers.
export { TestCluster, type TestStores, testCluster } from './test-cluster.js'
export type { MemberIds, MemberOptions, TestClusterOptions } from './options.js'
