/** Whether etcd answers, as health checks see it: over a fake one that can be silent, in virtual time. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { HealthCheck } from '../../src/apiserver/health.ts'
import { etcdChecks } from '../../src/app/etcd-check.ts'
import { EtcdRegistryStore } from '../../src/registry/etcd/registry-store.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { rangeReply, startFakeEtcd, type FakeEtcd } from '../support/fake-etcd.ts'
import { FakeClock, until } from '../support/fake-clock.ts'

interface Fixture {
  readonly etcd: FakeEtcd
  readonly health: HealthCheck
  readonly readiness: HealthCheck
  readonly clock: FakeClock
}

async function withChecks(body: (fixture: Fixture) => Promise<void>): Promise<void> {
  const etcd = await startFakeEtcd()
  const clock = new FakeClock()
  const options = { servers: [etcd.url], prefix: '/karmada', compactionIntervalMs: 0, files: {} }
  const store = new EtcdRegistryStore({ ...options, clock, random: () => 0, logger: createLogger('silent') })
  const config = { ...options, healthcheckTimeoutMs: 2_000, readycheckTimeoutMs: 400 }
  const [health, readiness] = etcdChecks(config, (timeoutMs) => store.probe(timeoutMs), clock)
  try {
    await body({ etcd, health: health!, readiness: readiness!, clock })
  } finally {
    await store.close()
    await etcd.close()
  }
  assert.equal(clock.pending, 0, 'timers left behind')
}

it('reads the key that a kube-apiserver reads, and waits as long as each flag says', async () => {
  await withChecks(async ({ etcd, health, readiness, clock }) => {
    const keys: string[] = []
    etcd.onCall = (_path, request) => (keys.push(request.toString('latin1')), rangeReply(7))
    assert.deepEqual(await health.check(), { state: 'ready' })
    assert.match(keys[0] ?? '', /\/karmada\/health/)
    etcd.onCall = () => 'silence'
    const slow = readiness.check()
    await until(() => etcd.calls.length === 2, 'the second question')
    await clock.advance(399)
    assert.equal(await Promise.race([slow, Promise.resolve('pending')]), 'pending')
    await clock.advance(1)
    assert.deepEqual(await slow, { state: 'failed', reason: 'etcd does not answer within 400 ms' })
    await clock.advance(1_000)
    const slower = health.check()
    await until(() => etcd.calls.length === 3, 'the third question')
    await clock.advance(2_000)
    assert.deepEqual(await slower, { state: 'failed', reason: 'etcd does not answer within 2000 ms' })
  })
})

it('asks at most once in half the time-out, whoever asks, and tells no addresses', async () => {
  await withChecks(async ({ etcd, health, clock }) => {
    etcd.onCall = () => ({ status: 14, text: 'etcdserver: no leader at 10.1.2.3' })
    const answers = await Promise.all([health.check(), health.check(), health.check()])
    for (const answer of answers) assert.deepEqual(answer, { state: 'failed', reason: 'etcd does not answer' })
    assert.equal(etcd.calls.length, 1)
    etcd.onCall = () => rangeReply(7)
    await clock.advance(999)
    assert.equal((await health.check()).state, 'failed')
    await clock.advance(1)
    assert.equal((await health.check()).state, 'ready')
    assert.equal(etcd.calls.length, 2)
  })
})
