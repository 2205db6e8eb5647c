// Test: tasks run one at a time and in order, urgent tasks first. A task whose time limit ends before its
// turn never runs.

import { expect, test } from 'vitest'
import { scene } from '../testing/store-in-virtual-time.js'
import { settle } from '../testing/virtual-time.js'
import { CallLimit, OVER } from './call-deadline-or-abort.js'
import { RequestOrder } from './request-order.js'

const over = () => OVER

function tasks() {
  const { world, port } = scene()
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const task = (name: string) => () =>
    new Promise<string>((resolve) => {
      begun.push(name)
      ends.set(name, () => resolve(name))
    })
  return {
    world,
    port,
    patient: new CallLimit(port, undefined),
    begun,
    task,
    end: (name: string) => ends.get(name)?.(),
  }
}

test('tasks run in the order of the calls; an urgent task goes before all that wait', async () => {
  const turns = new RequestOrder()
  const { patient, begun, task, end } = tasks()
  void turns.run(task('a'), patient, over)
  void turns.run(task('b'), patient, over)
  void turns.run(task('c'), patient, over)
  void turns.urgent(task('urgent'))
  expect(begun).toEqual(['a'])
  for (const name of ['a', 'urgent', 'b', 'c']) {
    await settle()
    expect(begun.at(-1)).toBe(name)
    end(name)
  }
})

test('no new call begins while the next waiting task is started, and a failure does not stop the others', async () => {
  const turns = new RequestOrder()
  const { patient, begun, task, end } = tasks()
  const failing = turns
    .run(() => Promise.reject(new Error('own')), patient, over)
    .catch((error: Error) => error.message)
  void turns.run(task('a'), patient, over)
  expect(await failing).toBe('own')
  void turns.run(task('b'), patient, over)
  await settle()
  expect(begun).toEqual(['a'])
  end('a')
  await settle()
  expect(begun).toEqual(['a', 'b'])
})

test('a limit that ends first removes its task from the queue and gives OVER', async () => {
  const turns = new RequestOrder()
  const { world, port, patient, begun, task, end } = tasks()
  void turns.run(task('a'), patient, over)
  const late = turns.run(task('late'), new CallLimit(port, 100), over)
  void turns.run(task('c'), patient, over)
  await world.advance(101)
  expect(await late).toBe(OVER)
  end('a')
  await settle()
  expect(begun).toEqual(['a', 'c'])
})

test.each(['run', 'urgent'] as const)(
  'the caller of a task continues before the next task begins: %s',
  async (next) => {
    const turns = new RequestOrder()
    const { patient, begun, task, end } = tasks()
    // As many promises deep as lock(): the holder's enter, and the call itself.
    const enter = async () => (await turns.run(task('a'), patient, over)) === 'a'
    const lock = async () => (await enter()) || undefined
    const caller = async () => {
      await lock()
      return [...begun]
    }
    const heard = caller()
    void (next === 'run' ? turns.run(task('b'), patient, over) : turns.urgent(task('b')))
    end('a')
    expect(await heard).toEqual(['a'])
    await settle()
    expect(begun).toEqual(['a', 'b'])
  },
)
