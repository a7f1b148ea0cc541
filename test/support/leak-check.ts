/**
 * Loaded before each test file (`node --import`): fails a file that leaves a socket, a server, a child or a timer behind.
 * Such a file would never end by itself: some time after its last test this names what is left and ends it. Unreferenced
 * handles do not count. The time is generous, since `after` hooks that stop real servers run within it.
 */
import { isMainThread } from 'node:worker_threads'

const GRACE_MS = 30_000

async function endWhatLeaks(): Promise<void> {
  const { after } = await import('node:test')
  after(() => {
    setTimeout(() => {
      process.stderr.write(`left behind: ${process.getActiveResourcesInfo().join(', ')}\n`)
      process.exit(1)
    }, GRACE_MS).unref()
  })
}

// Worker threads load this too (they inherit the process's flags); a worker left behind keeps its parent alive.
if (isMainThread) await endWhatLeaks()
