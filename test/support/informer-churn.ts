/**
 * client-go's informers follow two real members through us while these change, are killed, come back, forget their history
 * and flap: in the end every informer's store is the union of what the members hold.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startInformers, type InformerReport, type Informers } from './client-go.ts'
import { PROXY, setReady, startKarmadaFleet, startServe, until, type KarmadaFleet } from './karmada-fleet.ts'
import { churn, held, type HeldObject } from './member-churn.ts'
import { kubeconfig } from './real-parts/index.ts'

/** How long stores may take to become equal when the members have come to rest. */
const SETTLE_MS = 90_000

/** Runs for `durationMs`, with one disturbance every `everyMs`. */
export async function informersStayEqual(durationMs: number, everyMs: number): Promise<void> {
  const fleet = await startKarmadaFleet(['member1', 'member2'])
  const serve = await startServe(fleet.host)
  const followers: Informers[] = []
  const stop = new AbortController()
  try {
    await fleet.register('followed', {
      targetCluster: {},
      resourceSelectors: ['Pod', 'ConfigMap'].map((kind) => ({ apiVersion: 'v1', kind })),
    })
    const kubeconfigPath = await proxyKubeconfig(fleet)
    followers.push(
      ...(await Promise.all([true, false].map((watchList) => startInformers({ kubeconfigPath, watchList })))),
    )
    const random = sequence()
    const changes = fleet.members.map((member) => churn(member, random, stop.signal))
    const end = performance.now() + durationMs
    for (let step = 0; performance.now() + everyMs <= end; step++) {
      await delay(everyMs)
      await disturb(fleet, step)
    }
    stop.abort()
    await Promise.all(changes)
    for (const follower of followers) await becomesEqual(fleet, follower, serve.process.logTail)
  } finally {
    stop.abort()
    await Promise.all(followers.map((follower) => follower.stop()))
    await serve.stop()
    await fleet.stop()
  }
}

/** A client of the proxied fleet, through the aggregation layer. */
async function proxyKubeconfig({ host }: KarmadaFleet): Promise<string> {
  const file = path.join(host.folder, 'proxy-kubeconfig')
  const { certPem, keyPem } = host.pki.admin
  await writeFile(file, kubeconfig({ name: 'fleet', url: host.url + PROXY, caPem: host.caPem, certPem, keyPem }))
  return file
}

/** In turn: history forgotten, killed and back, not ready for a while, stalled for a while. */
async function disturb({ host, members }: KarmadaFleet, step: number): Promise<void> {
  const member = members[step % members.length]!
  switch (Math.floor(step / members.length) % 4) {
    case 0:
      return member.compact()
    case 1:
      await member.kill()
      return member.restart()
    case 2:
      await setReady(host, member.name, false)
      await delay(1_000)
      return setReady(host, member.name, true)
    default:
      await member.kill('STOP')
      await delay(2_000)
      return member.kill('CONT')
  }
}

async function becomesEqual(fleet: KarmadaFleet, informers: Informers, serverLog: () => string): Promise<void> {
  let report: Readonly<Record<string, InformerReport>> = {}
  const wanted = { pods: await held(fleet.members, 'pods'), configmaps: await held(fleet.members, 'configmaps') }
  const equal = async (): Promise<boolean> => {
    report = await informers.dump()
    return Object.entries(report).every(([name, { objects }]) => sameObjects(objects, wanted[resourceOf(name)], name))
  }
  await until(equal, 'equal stores', SETTLE_MS).catch(() => {
    for (const [name, { objects }] of Object.entries(report)) {
      const hint = `${name}\n${informers.errors().slice(-3_000)}\n${serverLog()}`
      assert.deepEqual(comparable(objects, name), comparable(wanted[resourceOf(name)], name), hint)
    }
  })
  for (const [name, { synced, faults, updates }] of Object.entries(report)) {
    assert.equal(synced, true, name)
    assert.deepEqual(faults, [], name)
    assert.ok(updates > 0, `${name} heard of changes`)
  }
}

function resourceOf(informer: string): 'pods' | 'configmaps' {
  return informer.endsWith('/pods') ? 'pods' : 'configmaps'
}

type Objects = Readonly<Record<string, HeldObject>>

function sameObjects(a: Objects, b: Objects, name: string): boolean {
  return JSON.stringify(comparable(a, name)) === JSON.stringify(comparable(b, name))
}

/** What both sides know of each object, in key order; metadata alone has no data. */
function comparable(objects: Objects, name: string): object[] {
  return Object.keys(objects)
    .filter((key) => key !== 'default/kube-root-ca.crt')
    .sort()
    .map((key) => {
      const { uid, cluster, data = {}, labels = {} } = objects[key]!
      const sorted = Object.fromEntries(Object.entries(labels).sort())
      return { key, uid, cluster, labels: sorted, ...(name.startsWith('metadata/') ? {} : { data }) }
    })
}

/** The same choices in every run. Source: mulberry32. */
function sequence(): () => number {
  let state = 1
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
