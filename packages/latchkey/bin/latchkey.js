#!/usr/bin/env node
// Driver: the command `latchkey`.
import { runProcess } from '../dist/cli/index.js'

await runProcess()
