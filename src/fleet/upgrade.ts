/**
 * One HTTP/1.1 upgrade on a member's connections, so that TLS and proxies are those of every other request. undici's own
 * `upgrade` takes any answer but 101 for a fault, and here that answer is the client's to see.
 */
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { MemberResponse, SwitchedProtocols } from './member.ts'

export interface UpgradeOptions {
  readonly origin: string
  readonly path: string
  readonly method: string
  readonly protocol: string
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly signal: AbortSignal
}

/** An answer other than 101. */
export interface PlainAnswer extends Pick<MemberResponse, 'status' | 'headers'> {
  readonly body: Readable
}

/** Rejects with whatever undici throws, or with the signal's reason. */
export function dispatchUpgrade(
  dispatcher: Dispatcher,
  { protocol, signal, ...request }: UpgradeOptions,
): Promise<SwitchedProtocols | PlainAnswer> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const handler = new UpgradeHandler(signal, resolve, reject)
    dispatcher.dispatch({ ...request, headers: request.headers as Record<string, string>, upgrade: protocol }, handler)
  })
}

class UpgradeHandler implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal
  readonly #resolve: (answer: SwitchedProtocols | PlainAnswer) => void
  readonly #reject: (error: unknown) => void
  #controller: Dispatcher.DispatchController | undefined
  #body: Readable | undefined
  readonly #onAbort = (): void => {
    const reason = this.#signal.reason as Error
    this.#reject(reason)
    this.#controller?.abort(reason)
  }

  constructor(
    signal: AbortSignal,
    resolve: (answer: SwitchedProtocols | PlainAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    this.#signal = signal
    this.#resolve = resolve
    this.#reject = reject
    signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#signal.aborted) controller.abort(this.#signal.reason as Error)
  }

  onRequestUpgrade(
    controller: Dispatcher.DispatchController,
    _status: number,
    _headers: unknown,
    stream: Parameters<NonNullable<Dispatcher.DispatchHandler['onRequestUpgrade']>>[3],
  ): void {
    this.#settled()
    const socket = stream as Socket // of HTTP/1.1, and nothing else is spoken here
    socket.on('error', () => undefined) // its reader sees it close
    if (this.#signal.aborted) return void socket.destroy()
    this.#resolve({ status: 101, headerLines: lines(controller.rawHeaders), socket })
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: MemberResponse['headers']): void {
    const body = new Readable({
      read: () => {
        if (controller.paused) controller.resume()
      },
      destroy: (error, done) => {
        this.#settled()
        // Whoever stops reading gives the connection up; after the end that does nothing.
        if (!body.readableEnded) controller.abort(error ?? new Error('nobody reads the answer'))
        done(error)
      },
    })
    this.#body = body
    this.#resolve({ status, headers, body })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body?.push(chunk) === false) controller.pause()
  }

  onResponseEnd(): void {
    this.#settled()
    this.#body?.push(null)
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#settled()
    if (this.#body === undefined) this.#reject(error)
    else this.#body.destroy(error)
  }

  #settled(): void {
    this.#signal.removeEventListener('abort', this.#onAbort)
  }
}

function lines(raw: Dispatcher.DispatchController['rawHeaders']): string[] {
  if (!Array.isArray(raw)) return []
  return raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')))
}
