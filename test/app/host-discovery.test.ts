import assert from 'node:assert/strict'
import { it } from 'node:test'
import { learnFromHost } from '../../src/app/host-discovery.ts'
import { KnownResources } from '../../src/controller/known-resources.ts'
import { noCredentials } from '../../src/fleet/credentials.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { systemClock } from '../../src/util/clock.ts'
import { customType, startFakeMember } from '../support/fake-member.ts'
import { FakeClock } from '../support/fake-clock.ts'

it('learns what the control plane serves, now and later, through its failures', async () => {
  const host = await startFakeMember()
  const client = createMemberClient({ server: host.url, credentials: noCredentials, clock: systemClock })
  const clock = new FakeClock()
  const known = new KnownResources()
  const stop = new AbortController()
  host.misbehave({ on: {}, times: 2, fault: { type: 'status', code: 500 } })
  const logger = createLogger('silent')
  const running = learnFromHost({ client, known, clock, random: () => 0.5, logger }, stop.signal)
  await clock.advanceUntil(() => known.known('', 'v1', 'pods') !== undefined)
  host.addType(customType('Widget'))
  await clock.advanceUntil(() => known.ofKind('example.io', 'Widget').length === 1)
  stop.abort(new Error('done'))
  await running
  assert.equal(known.known('', 'v1', 'pods')?.kind, 'Pod')
  await client.close()
  await host.close()
})
