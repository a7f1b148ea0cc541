/**
 * A server started for a test, watched by guard.sh: whatever happens to the test's own process (SIGKILL too), the server
 * is killed at once. Node's exit handlers cannot promise that.
 */
import { spawn } from 'node:child_process'
import { openSync, closeSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'

const GUARD = path.join(import.meta.dirname, 'guard.sh')
const STOP_GRACE_MS = 5_000

export interface GuardedOptions {
  readonly command: string
  readonly args: readonly string[]
  /** Standard output and error are appended to this file. */
  readonly logPath: string
  readonly env?: Readonly<Record<string, string>>
  /** Removed when the starting process dies without having stopped this one. */
  readonly folder?: string
}

export interface GuardedProcess {
  readonly pid: number
  readonly exited: Promise<number | null>
  readonly running: boolean
  /** Any signal without its SIG prefix: `KILL`, `TERM`, `STOP` and `CONT` (a server that hangs). */
  signal(name: string): void
  /** SIGTERM, and SIGKILL after 5 s. Resolves when it is gone; also if it was already. */
  stop(): Promise<void>
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>
  /** The last lines of its log. */
  logTail(lines?: number): string
}

export async function startGuarded(options: GuardedOptions): Promise<GuardedProcess> {
  const log = openSync(options.logPath, 'a')
  const guard = spawn(GUARD, [options.folder ?? '', options.command, ...options.args], {
    stdio: ['pipe', log, log, 'pipe'],
    env: { ...process.env, ...options.env },
    // Its own session: Ctrl-C reaches the test alone, whose end then ends this.
    detached: true,
  })
  closeSync(log)
  const stdin = guard.stdin as Writable
  // Writing to a guard that has just ended is not a fault.
  stdin.on('error', () => undefined)
  let running = true
  const exited = new Promise<number | null>((resolve, reject) => {
    guard.once('error', reject)
    guard.once('exit', (code) => {
      running = false
      stdin.destroy()
      resolve(code)
    })
  })
  const pid = Number(await firstLine(guard.stdio[3] as Readable))
  const signal = (name: string): void => {
    if (running) stdin.write(`${name}\n`)
  }
  return {
    pid,
    exited,
    get running() {
      return running
    },
    signal,
    async stop() {
      signal('CONT')
      signal('TERM')
      const timer = setTimeout(() => {
        signal('KILL')
      }, STOP_GRACE_MS)
      await exited
      clearTimeout(timer)
    },
    async kill() {
      signal('KILL')
      await exited
    },
    logTail: (lines = 20) => readFileSync(options.logPath, 'utf8').trimEnd().split('\n').slice(-lines).join('\n'),
  }
}

async function firstLine(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text.trim()
}
