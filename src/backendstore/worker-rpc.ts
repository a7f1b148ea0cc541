/** Calls into a worker thread, answered in their order. */
import { Worker, type MessagePort, type Transferable } from 'node:worker_threads'
import { isStatusError, StatusError, type StatusCode } from '../kube/status-error.ts'
import { memoSlots } from '../util/text-memo.ts'
import { BackendStoreError, type BackendStoreErrorCode } from './errors.ts'

interface Call {
  readonly id: number
  readonly method: string
  readonly args: unknown
}

/** How an error travels: by its code, for what is thrown on the other side. */
type Failure =
  | { readonly room: 'store'; readonly code: BackendStoreErrorCode; readonly message: string }
  | { readonly room: 'kube'; readonly code: StatusCode; readonly message: string }

type Answer = { readonly result: unknown } | { readonly failure: Failure }

/** With the thread's `memoSlots`. */
type Reply = Answer & { readonly id: number; readonly memos: number }

interface Waiting {
  resolve(result: unknown): void
  reject(error: Error): void
}

/** Of the threads that run, as of their last answers. */
const memosOf = new Map<WorkerClient, number>()

/** Slots of the memo tables (`text-memo.ts`) of all threads of stores. */
export function memoSlotsOfThreads(): number {
  let sum = 0
  for (const slots of memosOf.values()) sum += slots
  return sum
}

export class WorkerClient {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #next = 0
  #closed: BackendStoreError | undefined

  /** `module` below this folder, without its extension: `.ts` in a checkout, `.js` once built. */
  constructor(module: string, data: unknown) {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    this.#worker = new Worker(new URL(`./${module}.${extension}`, import.meta.url), { workerData: data })
    this.#worker.on('message', (reply: Reply) => this.#settle(reply))
    this.#worker.on('error', (error) => this.#fail(new BackendStoreError('failed', 'the search store ended', error)))
    this.#worker.on('exit', () => this.#fail(new BackendStoreError('closed', 'the search store is closed')))
  }

  call<Result>(method: string, args: unknown, transfer: readonly Transferable[] = []): Promise<Result> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed)
    const id = this.#next++
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (result: unknown) => void, reject })
      this.#worker.postMessage({ id, method, args } satisfies Call, transfer)
    })
  }

  /** Lets calls end that are under way, then the thread. */
  async close(): Promise<void> {
    if (this.#closed !== undefined) return
    const closing = this.call('close', undefined).catch(() => undefined)
    this.#closed = new BackendStoreError('closed', 'the search store is closed')
    await closing
    await this.#worker.terminate()
  }

  #settle(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id)
    this.#waiting.delete(reply.id)
    memosOf.set(this, reply.memos)
    if ('failure' in reply) waiting?.reject(errorOf(reply.failure))
    else waiting?.resolve(reply.result)
  }

  #fail(error: BackendStoreError): void {
    this.#closed ??= error
    memosOf.delete(this)
    for (const waiting of this.#waiting.values()) waiting.reject(error)
    this.#waiting.clear()
  }
}

/** What a thread can be asked, by name. Methods may throw. */
export type Methods = Readonly<Record<string, (args: never) => unknown>>

/** Any error as one of the store's. */
export type ToStoreError = (error: unknown) => BackendStoreError

/** `open` makes what is asked; where it fails, every call but `close` is told why. */
export function serveOpened(port: MessagePort, toStoreError: ToStoreError, open: () => Methods): void {
  let methods: Methods = {}
  let failure: BackendStoreError | undefined
  try {
    methods = { ready: () => undefined, ...open() }
  } catch (error) {
    failure = toStoreError(error)
  }
  const run = (method: string, args: unknown): unknown => {
    if (failure !== undefined && method !== 'close') throw failure
    return methods[method]?.(args as never)
  }
  port.on('message', ({ id, method, args }: Call) => {
    const answered = answer(() => run(method, args), toStoreError)
    const reply: Reply = { ...answered, id, memos: memoSlots() }
    port.postMessage(reply, 'result' in reply ? transferOf(reply.result) : [])
  })
}

const transfers = new WeakMap<object, readonly Transferable[]>()

/** A result of a method whose buffers are handed over rather than copied. */
export function transferring<Result extends object>(result: Result, buffers: readonly Transferable[]): Result {
  transfers.set(result, buffers)
  return result
}

function transferOf(result: unknown): Transferable[] {
  return typeof result === 'object' && result !== null ? [...(transfers.get(result) ?? [])] : []
}

function answer(run: () => unknown, toStoreError: ToStoreError): Answer {
  try {
    return { result: run() }
  } catch (error) {
    return { failure: failureOf(error, toStoreError) }
  }
}

function failureOf(error: unknown, toStoreError: ToStoreError): Failure {
  if (isStatusError(error)) return { room: 'kube', code: error.code, message: error.message }
  const { code, message } = toStoreError(error)
  return { room: 'store', code, message }
}

function errorOf(failure: Failure): Error {
  if (failure.room === 'kube') return new StatusError(failure.code, failure.message)
  return new BackendStoreError(failure.code, failure.message)
}
