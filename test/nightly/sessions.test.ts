/** Two gigabytes through one session of `fleetsearch serve`: its memory stays as it was. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { PROXY, startKarmadaFleet, startServe, until } from '../support/karmada-fleet.ts'
import { binaries } from '../support/real-parts/binaries.ts'
import { kubeconfig, startKubelet, tryKubectl } from '../support/real-parts/index.ts'

const BYTES = 2 * 1024 ** 3
/** Buffers of two connections, and what a collection has not yet taken: far from what passes. */
const MAX_GROWTH_MIB = 96

const residentMiB = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

it('D6: two gigabytes pass through a session, and resident memory is flat', async (t) => {
  await using started = new AsyncDisposableStack()
  const fleet = started.adopt(await startKarmadaFleet(['member1']), (each) => each.stop())
  const kubelet = started.adopt(await startKubelet(fleet.members[0]!), (each) => each.stop())
  const serve = started.adopt(await startServe(fleet.host), (each) => each.stop())
  await kubelet.run('one')
  await fleet.register('pods', { targetCluster: {}, resourceSelectors: [{ apiVersion: 'v1', kind: 'Pod' }] })
  const file = path.join(fleet.host.folder, 'straight')
  const { certPem, keyPem } = fleet.host.pki.admin
  writeFileSync(file, kubeconfig({ name: 'fleet', url: serve.url + PROXY, caPem: serve.caPem, certPem, keyPem }))
  const warm = ['exec', 'one', '--', 'head', '-c', '50000000', '/dev/zero']
  await until(async () => (await tryKubectl(warm, { kubeconfig: file })).code === 0, 'the pod')
  const before = residentMiB(serve.process.pid)
  const { kubectl } = await binaries('kubectl')
  const child = spawn(kubectl, ['exec', 'one', '--', 'head', '-c', String(BYTES), '/dev/zero'], {
    env: { PATH: process.env['PATH'] ?? '', HOME: fleet.host.folder, KUBECONFIG: file },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let [passed, peak, next] = [0, before, 0]
  child.stdout.on('data', (chunk: Buffer) => {
    passed += chunk.length
    if (passed < next) return
    next += BYTES / 64
    peak = Math.max(peak, residentMiB(serve.process.pid))
  })
  const [code] = (await once(child, 'close')) as [number]
  t.diagnostic(`resident before ${before.toFixed(0)} MiB, at most ${peak.toFixed(0)} MiB`)
  assert.equal(code, 0)
  assert.equal(passed, BYTES)
  assert.ok(peak - before < MAX_GROWTH_MIB, `it grew by ${(peak - before).toFixed(0)} MiB`)
})
