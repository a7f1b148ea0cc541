/** The informers of test/e2e/client-go as a process: client-go's own word on whether what we serve can be followed. */
import { execFile, spawn } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

export interface InformerObject {
  readonly uid: string
  /** By its annotation. */
  readonly cluster: string
  readonly data?: Readonly<Record<string, string>>
  readonly phase?: string
  readonly labels?: Readonly<Record<string, string>>
}

export interface InformerReport {
  readonly synced: boolean
  /** By `namespace/name`. */
  readonly objects: Readonly<Record<string, InformerObject>>
  readonly adds: number
  readonly updates: number
  readonly deletes: number
  /** Lists and watches that failed. */
  readonly errors: number
  /** Calls of its handlers that contradict each other. */
  readonly faults: readonly string[]
}

export interface Informers {
  /** By the informer's name: `json/pods`, `protobuf/configmaps`, `metadata/configmaps`, … */
  dump(): Promise<Readonly<Record<string, InformerReport>>>
  /** What client-go had to say of failures. */
  errors(): string
  stop(): Promise<void>
}

export interface InformersOptions {
  readonly kubeconfigPath: string
  /** Lists are streamed as watches, client-go's default. */
  readonly watchList: boolean
}

const SCRIPT = path.join(import.meta.dirname, 'real-parts/build-client-go.sh')

export async function startInformers({ kubeconfigPath, watchList }: InformersOptions): Promise<Informers> {
  const { stdout } = await promisify(execFile)(SCRIPT)
  const child = spawn(stdout.trim(), ['-kubeconfig', kubeconfigPath], {
    env: { PATH: process.env['PATH'] ?? '', KUBE_FEATURE_WatchListClient: String(watchList) },
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-100_000)))
  child.stdin.on('error', () => undefined)
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const waiting: ((line: string | undefined) => void)[] = []
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.(line))
  void exited.then(() => waiting.splice(0).forEach((answer) => answer(undefined)))
  return {
    async dump() {
      const line = await new Promise<string | undefined>((resolve) => {
        waiting.push(resolve)
        child.stdin.write('dump\n')
      })
      if (line === undefined) throw new Error(`the informers ended:\n${errors.slice(-2_000)}`)
      return JSON.parse(line) as Record<string, InformerReport>
    },
    errors: () => errors,
    async stop() {
      child.kill('SIGKILL')
      await exited
    },
  }
}
