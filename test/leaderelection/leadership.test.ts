import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALWAYS_LEADING, whileLeading, type Leadership } from '../../src/leaderelection/leadership.ts'
import { settle } from '../support/fake-clock.ts'

class Switch implements Leadership {
  readonly listeners = new Set<() => void>()
  #leads = false

  isLeader(): boolean {
    return this.#leads
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  set(leads: boolean): void {
    this.#leads = leads
    for (const listener of [...this.listeners]) listener()
  }
}

/** A task that says when it begins and is told to end, and ends when `finish` is called. */
function task() {
  const events: string[] = []
  let finish = (): void => undefined
  const run = (signal: AbortSignal): Promise<void> => {
    events.push('begins')
    signal.addEventListener('abort', () => events.push('told'), { once: true })
    return new Promise<void>((resolve) => {
      finish = () => {
        events.push('ends')
        resolve()
      }
    })
  }
  return { events, run, finish: () => finish() }
}

test('a task runs once in each term, and the next waits for the end of the last', async () => {
  const leadership = new Switch()
  const { events, run, finish } = task()
  const stop = new AbortController()
  const running = whileLeading(leadership, run, stop.signal)
  await settle()
  assert.deepEqual(events, [])
  leadership.set(true)
  await settle()
  leadership.set(true)
  leadership.set(false)
  leadership.set(true)
  await settle()
  assert.deepEqual(events, ['begins', 'told'], 'the first has not ended')
  finish()
  await settle()
  assert.deepEqual(events, ['begins', 'told', 'ends', 'begins'])
  stop.abort()
  await settle()
  finish()
  await running
  assert.deepEqual(events.slice(4), ['told', 'ends'])
  assert.equal(leadership.listeners.size, 0)
})

test('a task that ends by itself is not run again in the same term', async () => {
  const leadership = new Switch()
  const { events, run, finish } = task()
  const stop = new AbortController()
  const running = whileLeading(leadership, run, stop.signal)
  leadership.set(true)
  await settle()
  finish()
  await settle()
  assert.deepEqual(events, ['begins', 'ends'])
  leadership.set(false)
  leadership.set(true)
  await settle()
  assert.deepEqual(events, ['begins', 'ends', 'told', 'begins'])
  stop.abort()
  finish()
  await running
  assert.equal(leadership.listeners.size, 0)
})

test('a task that fails is told to who waits', async () => {
  const leadership = new Switch()
  leadership.set(true)
  const fault = new Error('ours')
  await assert.rejects(
    whileLeading(leadership, () => Promise.reject(fault), new AbortController().signal),
    fault,
  )
  assert.equal(leadership.listeners.size, 0)
})

test('the only replica leads at once and until the end; without a term nothing begins', async () => {
  const stop = new AbortController()
  const { events, run, finish } = task()
  const running = whileLeading(ALWAYS_LEADING, run, stop.signal)
  await settle()
  stop.abort()
  finish()
  await running
  assert.deepEqual(events, ['begins', 'told', 'ends'])
  await whileLeading(ALWAYS_LEADING, run, stop.signal)
  assert.equal(events.length, 3)
})
