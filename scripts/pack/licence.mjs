// Driver: npm runs it in a package's folder before it packs: the one licence of the repository goes along with each package.

import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

copyFileSync(fileURLToPath(new URL('../../LICENSE', import.meta.url)), join(process.cwd(), 'LICENSE'))
