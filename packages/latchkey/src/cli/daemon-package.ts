// Driver: loads the package that only a member in a process of its own needs, or says how to install it.
// `latchkey` installs everything that an embedded store, connect() and most commands need. The log and the
// metrics of `latchkey start` are in a separate package.

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
 * If another package cannot be found, the installation is broken, and Node's own message names that package.
 */
const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === 'ERR_MODULE_NOT_FOUND' &&
  error.message.includes(`'${NAME}'`)

const ADVICE = `a member in a process of its own needs the package ${NAME} beside latchkey: npm install ${NAME} (with -g if latchkey was installed with -g)`
