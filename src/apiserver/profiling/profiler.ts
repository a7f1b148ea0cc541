/**
 * Profiles of this process by V8's own profilers, one at a time: each slows down everything else.
 * A sampled profile holds names of functions and files; a heap snapshot holds everything that is in memory.
 */
import { Session } from 'node:inspector/promises'
import type { Readable } from 'node:stream'
import { getHeapSnapshot } from 'node:v8'
import { StatusError } from '../../kube/status-error.ts'
import type { Clock } from '../../util/clock.ts'
import { sleep } from '../../util/sleep.ts'

/** V8's own default is 1 ms; half of that costs a few per cent more. */
const CPU_INTERVAL_US = 1_000
/** Bytes between two samples, as Go's pprof (runtime.MemProfileRate). */
const HEAP_INTERVAL_BYTES = 512 * 1024

export class Profiler {
  readonly #clock: Clock
  #busy = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Where the time goes, as JSON (`.cpuprofile`). Throws `tooManyRequests` while another profile is taken. */
  cpu(ms: number, signal: AbortSignal): Promise<string> {
    return this.#record(ms, signal, async (session, wait) => {
      await session.post('Profiler.enable')
      await session.post('Profiler.setSamplingInterval', { interval: CPU_INTERVAL_US })
      await session.post('Profiler.start')
      await wait()
      return (await session.post('Profiler.stop')).profile
    })
  }

  /** What is allocated in that time and still alive at its end, as JSON (`.heapprofile`). Throws as `cpu`. */
  heap(ms: number, signal: AbortSignal): Promise<string> {
    return this.#record(ms, signal, async (session, wait) => {
      await session.post('HeapProfiler.startSampling', { samplingInterval: HEAP_INTERVAL_BYTES })
      await wait()
      return (await session.post('HeapProfiler.stopSampling')).profile
    })
  }

  /**
   * Everything that is alive (`.heapsnapshot`), as a stream that `write` reads. The process stands still while it is made:
   * about a second for each 100 MB of JavaScript heap. Throws as `cpu`.
   */
  async snapshot(write: (snapshot: Readable) => Promise<void>): Promise<void> {
    await this.#alone(() => write(getHeapSnapshot()))
  }

  async #record(
    ms: number,
    signal: AbortSignal,
    record: (session: Session, wait: () => Promise<void>) => Promise<object>,
  ): Promise<string> {
    return this.#alone(async () => {
      const session = new Session()
      session.connect()
      try {
        return JSON.stringify(await record(session, () => sleep(ms, this.#clock, signal)))
      } finally {
        session.disconnect() // which also stops what was begun
      }
    })
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#busy) {
      throw new StatusError('tooManyRequests', 'another profile is being taken', { details: { retryAfterSeconds: 5 } })
    }
    this.#busy = true
    try {
      return await work()
    } finally {
      this.#busy = false
    }
  }
}
