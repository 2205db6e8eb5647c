// Rule: the findings of the first hour that are about types, as text that strict TypeScript judges against the declarations in the packages.

export const FIRST_HOUR_TYPES = `import { type Duration, isLatchkeyError, type LatchkeyError, open, type Store } from 'latchkey'

type IsAny<T> = 0 extends 1 & T ? true : false
const isAny = <T>(_value: T): IsAny<T> => undefined as never

export async function findings(store: Store, json: Store<'json'>): Promise<void> {
  // 1: a misspelt option, field, event
  // @ts-expect-error guard
  await store.put('k', 'v', { gaurd: { key: 'k', token: 1 } })
  // @ts-expect-error when
  await store.txn({ if: [], then: [] })
  // @ts-expect-error is
  await store.txn({ when: [{ key: 'k', op: '!=', value: 'v' }], then: [] })
  // @ts-expect-error lease
  await store.locks.acquire('k', { ttl: '10s' })
  // @ts-expect-error gte, lt
  await store.scan({ start: 'a', end: 'b' })
  // @ts-expect-error disconnected
  store.on('disconnect', () => {})

  // 2: no any; what comes back is what was asked for
  // @ts-expect-error bytes are no number
  const number: number = await store.get('k')
  const bytes: Uint8Array | undefined = await store.get('k')
  const text: string | undefined = await store.get('k', { as: 'string' })
  const user: { name: string } | undefined = await json.get<{ name: string }>('k')
  await json.put('k', { name: 'Ada' })
  // @ts-expect-error a user is not put as bytes
  await store.put('k', { name: 'Ada' })
  const anys: false[] = [isAny(await store.get('k')), isAny(await json.get('k')), isAny((await store.scan())[0]?.value)]
  // @ts-expect-error no blanks in a duration
  const blank: Duration = '10 s'
  const lease: Duration = '10s'
  const opened: Store<'json'> = await open({ id: 'a', memory: true, as: 'json' })

  // 3: errors
  try {
    await store.put('k', 'v')
  } catch (error) {
    if (isLatchkeyError(error, 'ERR_TIMEOUT')) {
      const known: LatchkeyError = error
      const said: [string | Uint8Array | undefined, string | undefined, number | undefined] = [known.key, known.holder?.id, known.waitedMillis]
      void said
    }
  }

  // 6, 7: revisions, a life, counters
  const revision: number = (await store.scan()).revision
  await store.put('k', 'v', { ttl: '30s' })
  const counted: number = (await store.increment('n')).value
  void [number, bytes, text, user, anys, blank, lease, opened, revision, counted]
}
`
