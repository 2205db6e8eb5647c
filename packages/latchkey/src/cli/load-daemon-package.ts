// Driver: loads the package @latchkey/daemon, or tells the user how to install the package. The package
// contains the log and the metrics of `latchkey start`. Embedded stores, connect() and most commands work
// without the package, so the package `latchkey` does not install it.

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
 * Tells whether exactly this package is not installed. If another package is missing, the installation is
 * broken, and Node's own message names the missing package.
 */
const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === 'ERR_MODULE_NOT_FOUND' &&
  error.message.includes(`'${NAME}'`)

const ADVICE = `a member in a process of its own needs the package ${NAME} beside latchkey: npm install ${NAME} (with -g if latchkey was installed with -g)`
