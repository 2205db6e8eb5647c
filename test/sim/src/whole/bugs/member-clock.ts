// Driver: remembers the clock of the member that applies entries. Two known bugs read this clock during the
// apply.

import type { Clock } from '@latchkey/base'
import { inStateMachine } from './product-exports.js'

let clock: Clock | undefined

export const REMEMBER_CLOCK = inStateMachine(
  'KvMachine',
  (Real) =>
    class extends Real {
      readonly #clock: Clock
      constructor(...[options]: ConstructorParameters<typeof Real>) {
        super(options)
        this.#clock = options.clock
      }
      override apply(...args: Parameters<InstanceType<typeof Real>['apply']>) {
        clock = this.#clock
        return super.apply(...args)
      }
    },
)

/** In ms, from 0 to 49. The members have different values at the same entry. */
export const readingOfMember = (): number => Math.floor(clock?.now() ?? 0) % 50
