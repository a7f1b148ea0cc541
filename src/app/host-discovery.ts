/**
 * What the control plane itself serves, so that a resource nobody registered is told from one nobody ever served
 * (contract of search/cache: the one is an empty list, the other 404). Asked again every few minutes, with backoff.
 */
import type { KnownResources } from '../controller/known-resources.ts'
import { fetchDiscovery, type Discovery } from '../fleet/discovery.ts'
import type { MemberClient } from '../fleet/member.ts'
import { Backoff, RETRY } from '../informer/backoff.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Clock, Random } from '../util/clock.ts'
import { sleep } from '../util/sleep.ts'

/** New kinds of a control plane are rare; an unchanged answer has no body. */
const POLL_MS = 60_000

export interface HostDiscoveryOptions {
  readonly client: MemberClient
  readonly known: KnownResources
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/** Runs until the signal aborts. */
export async function learnFromHost(options: HostDiscoveryOptions, signal: AbortSignal): Promise<void> {
  const { client, known, clock, random, logger } = options
  const backoff = new Backoff(RETRY, clock, random)
  let previous: Discovery | undefined
  while (!signal.aborted) {
    let waitMs = POLL_MS
    try {
      previous = await fetchDiscovery(client, { ...(previous === undefined ? {} : { previous }), signal })
      known.learn(previous.resources)
      backoff.reset()
    } catch (err) {
      if (signal.aborted) return
      waitMs = backoff.nextMs()
      logger.warn({ err, waitMs }, 'the control plane does not tell what it serves; asking again')
    }
    await sleep(waitMs, clock, signal).catch(() => undefined)
  }
}
