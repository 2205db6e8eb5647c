// Driver: a process that campaigns and prints its token when it leads: leading NAME LEASE VALUE URL...

import { connect, type Duration } from '@latchkey/client'

const [name = '', lease = '', value = '', ...urls] = process.argv.slice(2)
const store = await connect(urls)
const leadership = await store.elections.campaign(name, { lease: lease as Duration, value })
// First the listener, then the word: whoever reads the token may stop this process at once.
leadership.signal.addEventListener('abort', () => process.stdout.write('lost\n'))
process.stdout.write(`${leadership.token}\n`)
