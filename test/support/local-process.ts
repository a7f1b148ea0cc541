/** `fleetsearch demo` and `fleetsearch up` as processes, started as users start them. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createTestClient, type TestClient } from './real-parts/http.ts'
import { startGuarded, type GuardedProcess } from './real-parts/guarded-process.ts'

export const PROGRAM = path.join(import.meta.dirname, '../../bin/fleetsearch.js')

export const BASE = '/apis/search.karmada.io/v1alpha1'
export const CACHE = `${BASE}/search/cache`
export const PROXY = `${BASE}/proxying/karmada/proxy`
export const QUERY = `${BASE}/search/query`

export interface LocalProcess extends TestClient {
  /** `http://127.0.0.1:PORT`, as it printed it. */
  readonly url: string
  readonly process: GuardedProcess
  /** Everything it wrote so far, standard output and error. */
  output(): string
  /** Its log records so far. */
  records(): LogRecord[]
  /** Where it keeps temporary files; nothing else does. */
  readonly temporary: string
  /** SIGTERM, and what became of it. Resolves with the exit code. */
  end(): Promise<number | null>
  /** Ends it if it still runs, and removes its files. */
  stop(): Promise<void>
}

export interface LogRecord {
  readonly level: number
  readonly msg: string
  readonly [key: string]: unknown
}

export interface LocalOptions {
  readonly flags?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Default: ready, as `/readyz` says; `listening`: as soon as it says where it listens. */
  readonly until?: 'ready' | 'listening'
}

const START_MS = 60_000

/** `--port=0` unless `flags` say otherwise: a free one. */
export async function startLocal(command: 'demo' | 'up', options: LocalOptions = {}): Promise<LocalProcess> {
  const folder = await mkdtemp(path.join(tmpdir(), `fleetsearch-${command}-test-`))
  const temporary = await mkdtemp(path.join(folder, 'tmp-'))
  const logPath = path.join(folder, 'output')
  const running = await startGuarded({
    command: process.execPath,
    args: [PROGRAM, command, '--port=0', '--log-format=json', ...(options.flags ?? [])],
    logPath,
    env: { TMPDIR: temporary, HOME: folder, XDG_DATA_HOME: folder, ...options.env },
    folder,
  })
  const output = (): string => readFileSync(logPath, 'utf8')
  const url = await listening(running, output).catch(async (error: unknown) => {
    await running.kill()
    await rm(folder, { recursive: true, force: true })
    throw error
  })
  const client = createTestClient({ url })
  const local: LocalProcess = {
    ...client,
    url,
    process: running,
    output,
    records: () => records(output()),
    temporary,
    end() {
      running.signal('TERM')
      return running.exited
    },
    async stop() {
      await client.close()
      await running.stop()
      await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
  if (options.until !== 'listening') await ready(local)
  return local
}

async function listening(running: GuardedProcess, output: () => string): Promise<string> {
  const deadline = performance.now() + START_MS
  for (;;) {
    const found = /listens on (http:\S+)/.exec(output())?.[1]
    if (found !== undefined) return found
    if (!running.running) throw new Error(`it ended:\n${output()}`)
    if (performance.now() > deadline) throw new Error(`it does not listen:\n${output()}`)
    await delay(20)
  }
}

async function ready(local: LocalProcess): Promise<void> {
  const deadline = performance.now() + START_MS
  while ((await local.request('/readyz')).status !== 200) {
    if (performance.now() > deadline) {
      const { text } = await local.request('/readyz?verbose')
      await local.stop()
      throw new Error(`it is not ready:\n${text}`)
    }
    await delay(50)
  }
}

function records(output: string): LogRecord[] {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogRecord)
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the program to its end; for what ends by itself. Killed after a minute. */
export function runProgram(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: START_MS,
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      resolve({ code, stdout, stderr })
    })
  })
}
