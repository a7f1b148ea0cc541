/** The programs of test/e2e/client-go as processes: client-go's own word on what we serve. */
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

/** A program that answers each line with one line. */
interface LineProgram {
  ask(line: string): Promise<string>
  /** What it said on standard error. */
  errors(): string
  stop(): Promise<void>
}

async function startProgram(
  name: 'informers' | 'typed',
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<LineProgram> {
  const { stdout } = await promisify(execFile)(SCRIPT)
  const child = spawn(path.join(stdout.trim(), name), args, { env: { PATH: process.env['PATH'] ?? '', ...env } })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-100_000)))
  child.stdin.on('error', () => undefined)
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const waiting: ((line: string | undefined) => void)[] = []
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.(line))
  void exited.then(() => waiting.splice(0).forEach((answer) => answer(undefined)))
  return {
    async ask(question) {
      const line = await new Promise<string | undefined>((resolve) => {
        waiting.push(resolve)
        child.stdin.write(`${question}\n`)
      })
      if (line === undefined) throw new Error(`${name} ended:\n${errors.slice(-2_000)}`)
      return line
    },
    errors: () => errors,
    async stop() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

export async function startInformers({ kubeconfigPath, watchList }: InformersOptions): Promise<Informers> {
  const env = { KUBE_FEATURE_WatchListClient: String(watchList) }
  const { ask, errors, stop } = await startProgram('informers', ['-kubeconfig', kubeconfigPath], env)
  return { dump: async () => JSON.parse(await ask('dump')) as Record<string, InformerReport>, errors, stop }
}

export type TypedVerb =
  | 'get'
  | 'list'
  | 'create'
  | 'update'
  | 'updateStatus'
  | 'patch'
  | 'delete'
  | 'deleteCollection'
  | 'getScale'
  | 'updateScale'
  | 'evict'
  | 'bind'

/** What a typed client is told to do. */
export interface TypedCommand {
  /** A name of `startTypedClient`. */
  readonly server: string
  readonly do: TypedVerb
  readonly resource: string
  readonly namespace?: string
  readonly name?: string
  /** The object, a patch, a Scale, an Eviction: what it is about. */
  readonly body?: object
  readonly patchType?: string
  readonly subresource?: string
  readonly deleteOptions?: object
  readonly listOptions?: object
  readonly dryRun?: readonly string[]
  /** Default: as client-go asks by itself where it sends protobuf. */
  readonly accept?: string
}

export interface TypedAnswer {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly object?: any
  readonly error?: { readonly code: number; readonly reason: string; readonly message: string }
  /** Media types of the request and of its answer. */
  readonly sent: string
  readonly received: string
}

export interface TypedClient {
  call(command: TypedCommand): Promise<TypedAnswer>
  stop(): Promise<void>
}

/** Typed clients that speak protobuf; kubeconfigs by a name for their servers. */
export async function startTypedClient(kubeconfigs: Readonly<Record<string, string>>): Promise<TypedClient> {
  const args = Object.entries(kubeconfigs).map(([name, file]) => `${name}=${file}`)
  const { ask, stop } = await startProgram('typed', args, {})
  return { call: async (command) => JSON.parse(await ask(JSON.stringify(command))) as TypedAnswer, stop }
}
