// Driver: the simulator's command line.

import { exitCode, runCli } from './run/cli.js'
import { runWholeCli } from './whole/cli.js'

const words = process.argv.slice(2)
const cli = words.includes('--whole') ? runWholeCli : runCli
process.exitCode = exitCode(await cli(words, (line) => console.log(line)))
