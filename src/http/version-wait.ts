/** Waits for a cache to stand at the versions a client has seen elsewhere. */
import type { VersionMap } from '../kube/multi-cluster-version.ts'
import { decodeVersionMap } from '../kube/multi-cluster-version.ts'
import { compareResourceVersions } from '../kube/names.ts'
import { StatusError } from '../kube/status-error.ts'
import type { Clock } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'
import type { PinSource } from './page-token.ts'

/** As long as a kube-apiserver's watch cache waits before it says 504. */
const WAIT_MS = 3_000
const POLL_MS = 25

/** The versions that a read names; undefined for none: empty, `0`, and what cannot be decoded (as the original). */
export function requestedVersions(resourceVersion: string): VersionMap | undefined {
  return resourceVersion === '' || resourceVersion === '0' ? undefined : decodeVersionMap(resourceVersion)
}

/**
 * Resolves as soon as no cluster of `versions` stands lower, or is still being listed for the first time. Clusters that
 * left do not count. Rejects with `timeout` (cause `ResourceVersionTooLarge`) after 3 s.
 */
export async function waitForVersions(
  source: PinSource,
  versions: VersionMap | undefined,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  if (versions === undefined) return
  const deadline = clock.monotonicMs() + WAIT_MS
  for (;;) {
    const behind = firstBehind(source, versions)
    if (behind === undefined) return
    if (clock.monotonicMs() >= deadline) throw tooLarge(behind)
    await sleep(POLL_MS, clock, signal)
  }
}

interface Behind {
  readonly cluster: string
  readonly wanted: string
  readonly current: string
}

function firstBehind(source: PinSource, versions: VersionMap): Behind | undefined {
  for (const { cluster, version } of source.shards()) {
    const wanted = versions.get(cluster)
    if (wanted === undefined) continue
    if (version === undefined) return { cluster, wanted, current: 'none yet' }
    if ((compareResourceVersions(version, wanted) ?? 0) < 0) return { cluster, wanted, current: version }
  }
  return undefined
}

function tooLarge({ cluster, wanted, current }: Behind): StatusError {
  const message = `Timeout: Too large resource version: ${wanted}, current: ${current} (cluster ${cluster})`
  return new StatusError('timeout', message, {
    details: {
      retryAfterSeconds: 1,
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    },
  })
}
