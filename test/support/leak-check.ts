/**
 * Loaded before each test file (`node --import`): fails a file that leaves a socket, a server, a child or a timer behind.
 * Handles may take a moment to close, so it looks again for up to two seconds. Unreferenced handles do not count.
 */
import { after } from 'node:test'
import { setImmediate } from 'node:timers/promises'

const LEAKS = new Set([
  'TCPSocketWrap',
  'TCPServerWrap',
  'PipeServerWrap',
  'ProcessWrap',
  'Timeout',
  'TLSWrap',
  'MessagePort',
  'Worker',
  'FSEventWrap',
  'StatWatcher',
])

const GRACE_MS = 2_000

function leaks(): string[] {
  return process.getActiveResourcesInfo().filter((name) => LEAKS.has(name))
}

// The reporters' own handles and whatever Node itself keeps are there before the first test.
const before = leaks()

after(async () => {
  const deadline = performance.now() + GRACE_MS
  for (;;) {
    const left = leaks()
    for (const name of before) {
      const at = left.indexOf(name)
      if (at !== -1) left.splice(at, 1)
    }
    if (left.length === 0) return
    if (performance.now() > deadline) throw new Error(`left behind: ${left.join(', ')}`)
    await setImmediate()
  }
})
