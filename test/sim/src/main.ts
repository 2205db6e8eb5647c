// Driver: the simulator's command line.

import { exitCode, runCli } from './run/cli.js'

process.exitCode = exitCode(await runCli(process.argv.slice(2), (line) => console.log(line)))
