#!/usr/bin/env node
// Driver: the command `latchkey`.
import { command } from './bundle.js'

const { runProcess } = await import(command())
await runProcess()
