/**
 * The whole service over TLS as a process of its own, over one fake member with two pods, so that its memory can be
 * measured apart from its clients'; rights are asked for and remembered as in `serve`. Started by `startTlsService`; not to be run by hand.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { subjectAccessReviewAuthorizer } from '../../src/apiserver/authz/subject-access-review.ts'
import { startFakeMember, type FakeMember } from './fake-member.ts'
import { podManifest } from './manifests.ts'
import { trustedTls } from './test-tls.ts'
import { eventually, startWholeService } from './whole-service.ts'

export interface TlsServiceProcess {
  readonly url: string
  readonly port: number
  readonly caPem: string
  /** Resident bytes after a garbage collection. */
  residentBytes(): Promise<number>
  /** Bytes that are alive, in JavaScript's heap and outside, after a garbage collection. */
  liveBytes(): Promise<number>
  stop(): Promise<void>
}

interface Started {
  readonly url: string
  readonly caPem: string
}

export async function startTlsService(): Promise<TlsServiceProcess> {
  const child = fork(import.meta.filename, ['serve'], { execArgv: ['--expose-gc'] })
  const [{ url, caPem }] = (await once(child, 'message')) as [Started]
  const usage = async (): Promise<NodeJS.MemoryUsage> => {
    child.send('memory')
    return ((await once(child, 'message')) as [NodeJS.MemoryUsage])[0]
  }
  return {
    url,
    port: Number(new URL(url).port),
    caPem,
    residentBytes: async () => (await usage()).rss,
    async liveBytes() {
      const { heapUsed, external } = await usage()
      return heapUsed + external
    },
    async stop() {
      child.send('stop')
      await once(child, 'exit')
    },
  }
}

async function serve(): Promise<void> {
  const objects = ['web-0', 'web-1'].map((name) => podManifest(name) as Parameters<FakeMember['put']>[0])
  const member = await startFakeMember({ objects })
  const { tls, caPem } = await trustedTls()
  const authorize = subjectAccessReviewAuthorizer({
    post: () => Promise.resolve({ status: { allowed: true } }),
    authorizedTtlMs: 10_000,
    unauthorizedTtlMs: 10_000,
    monotonicMs: () => performance.now(),
    signal: new AbortController().signal,
  })
  const service = await startWholeService({ tls, caPem, authorize })
  service.join('m1', member.url)
  await service.register('pods', 'v1/Pod')
  const pods = '/apis/search.karmada.io/v1alpha1/search/cache/api/v1/pods'
  await eventually(async () => {
    const answer = await service.request(pods)
    return answer.status === 200 && (answer.json() as { items: unknown[] }).items.length === 2
  }, 'the pods')
  process.on('message', (message) => {
    if (message === 'memory') {
      globalThis.gc?.()
      globalThis.gc?.()
      process.send?.(process.memoryUsage())
    } else {
      void service
        .stop()
        .then(() => member.close())
        .then(() => process.exit(0))
    }
  })
  process.send?.({ url: service.url, caPem } satisfies Started)
}

if (process.argv[2] === 'serve' && process.argv[1] === import.meta.filename) await serve()
