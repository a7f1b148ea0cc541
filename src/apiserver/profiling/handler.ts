/** `/debug/pprof/`: the paths of Go's net/http/pprof, with profiles that Chrome's and VS Code's tools open. */
import { pipeline } from 'node:stream/promises'
import type { ServerResponse } from 'node:http'
import { ClientGoneError } from '../../http/body-writer.ts'
import type { ApiHandler, ApiRequest } from '../../http/api-request.ts'
import { pathNotFound } from '../../http/status-response.ts'
import { badRequest, StatusError } from '../../kube/status-error.ts'
import type { Profiler } from './profiler.ts'

export const PROFILING_PREFIX = '/debug/pprof'

export interface ProfilingOptions {
  readonly profiler: Profiler
  /** Heap snapshots are given out: they hold every Secret and token that is in memory. */
  readonly snapshots: boolean
  readonly nowMs: () => number
}

/** As Go's `?seconds=`. */
const DEFAULT_SECONDS = 30
const MAX_SECONDS = 300

type Answerer = (request: ApiRequest, response: ServerResponse) => Promise<void> | void

/** Answers what is below `PROFILING_PREFIX`. A client that goes ends its profile. */
export function createProfilingHandler(options: ProfilingOptions): ApiHandler {
  const { profiler } = options
  const answerers = new Map<string, Answerer>([
    ['', (request, response) => sendIndex(request, response, options)],
    [
      'profile',
      async (request, response) => {
        const profile = await profiler.cpu(millisecondsOf(request), request.signal)
        send(response, 'cpuprofile', profile, options)
      },
    ],
    [
      'heap',
      async (request, response) => {
        const profile = await profiler.heap(millisecondsOf(request), request.signal)
        send(response, 'heapprofile', profile, options)
      },
    ],
  ])
  if (options.snapshots) answerers.set('heapsnapshot', (_request, response) => sendSnapshot(response, options))
  return async (request, response) => {
    const answer = answerers.get(request.path.replace(/^\/|\/$/g, ''))
    if (answer === undefined) throw pathNotFound()
    if (request.method !== 'GET') {
      throw new StatusError('methodNotAllowed', `${request.method} is not supported on ${PROFILING_PREFIX}/`, {
        details: {},
      })
    }
    await answer(request, response)
  }
}

/** Throws `badRequest`. */
function millisecondsOf({ query }: ApiRequest): number {
  const text = query.get('seconds') ?? String(DEFAULT_SECONDS)
  const seconds = /^[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : 0
  if (seconds > 0 && seconds <= MAX_SECONDS) return seconds * 1000
  throw badRequest(`seconds must be a number above 0 and up to ${MAX_SECONDS}`)
}

const TEXTS = {
  profile: `CPU profile of ?seconds= (default ${DEFAULT_SECONDS}, at most ${MAX_SECONDS}): a .cpuprofile file`,
  heap: 'sampled heap profile: what was allocated in ?seconds= and is still alive; a .heapprofile file',
  heapsnapshot: 'heap snapshot: everything in memory, secrets included; the process stands still meanwhile',
}

function sendIndex({ method }: ApiRequest, response: ServerResponse, { snapshots }: ProfilingOptions): void {
  const names = Object.entries(TEXTS).filter(([name]) => snapshots || name !== 'heapsnapshot')
  const lines = names.map(([name, text]) => `${PROFILING_PREFIX}/${name}\n    ${text}`)
  const body = `Profiles of this process, one at a time. Chrome DevTools and VS Code open them.\n\n${lines.join('\n')}\n`
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' })
  response.end(method === 'HEAD' ? undefined : body)
}

function head(extension: string, { nowMs }: ProfilingOptions): Record<string, string> {
  const name = `fleetsearch-${new Date(nowMs()).toISOString().replaceAll(/[:.]/g, '-')}.${extension}`
  return {
    'content-type': 'application/json',
    'content-disposition': `attachment; filename="${name}"`,
    'cache-control': 'no-store',
  }
}

function send(response: ServerResponse, extension: string, body: string, options: ProfilingOptions): void {
  response.writeHead(200, { ...head(extension, options), 'content-length': Buffer.byteLength(body) })
  response.end(body)
}

async function sendSnapshot(response: ServerResponse, options: ProfilingOptions): Promise<void> {
  await options.profiler.snapshot(async (snapshot) => {
    response.writeHead(200, head('heapsnapshot', options))
    try {
      await pipeline(snapshot, response)
    } catch (error) {
      throw response.destroyed ? new ClientGoneError() : error
    }
  })
}
