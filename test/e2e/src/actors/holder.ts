// Driver: a process that takes a lock and holds it, renewed, until it is killed. It prints the token once it
// has it. Arguments: KEY LEASE URL...

import { connect, type Duration } from '@latchkey/client'

const [key = '', lease = '', ...urls] = process.argv.slice(2)
const store = await connect(urls)
const hold = await store.locks.acquire(key, { lease: lease as Duration })
console.log(hold.token)
