// Driver: loads the package @latchkey/daemon, or prints how the user can install the package. `latchkey
// start` needs the package for its log and its metrics. Embedded stores, connect() and most commands do not
// need the package, so the package `latchkey` does not install it.

import { ConfigError } from '../sidecar/index.js'

const NAME = '@latchkey/daemon'

export async function loadDaemon<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    throw isMissing(error) ? new ConfigError(ADVICE, { cause: error }) : error
  }
}

/**
 * True if @latchkey/daemon is missing. False if the package is installed and only one of its dependencies is
 * missing, because Node's message then names the dependency.
 */
const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === 'ERR_MODULE_NOT_FOUND' &&
  error.message.includes(`'${NAME}'`)

const ADVICE = `a member in a process of its own needs the package ${NAME} beside latchkey: npm install ${NAME} (with -g if latchkey was installed with -g)`
