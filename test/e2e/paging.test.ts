/** 5,000 pods in each of two real members, listed through the proxy in pages of 500 while 50 of them change. */
import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import {
  CACHE,
  PROXY,
  startKarmadaFleet,
  startServe,
  until,
  type KarmadaFleet,
  type ServeProcess,
} from '../support/karmada-fleet.ts'
import type { RealCluster } from '../support/real-parts/index.ts'
import { podManifest } from '../support/manifests.ts'

const PODS = 5_000
const PAGE = 500
const TOUCHED = 50
const PARALLEL = 16

interface Page {
  readonly metadata: { readonly continue?: string; readonly resourceVersion: string }
  readonly items: { readonly metadata: { readonly name: string; readonly annotations: Record<string, string> } }[]
}

let fleet: KarmadaFleet
let serve: ServeProcess

before(async () => {
  fleet = await startKarmadaFleet(['member1', 'member2'])
  serve = await startServe(fleet.host)
  await fleet.register('pods', { targetCluster: {}, resourceSelectors: [{ apiVersion: 'v1', kind: 'Pod' }] })
  await Promise.all(fleet.members.map(fill))
  await until(async () => (await total()) === PODS * 2, 'all pods', 120_000)
})

after(async () => {
  await serve?.stop()
  await fleet?.stop()
})

function podName(index: number): string {
  return `pod-${String(index).padStart(5, '0')}`
}

async function fill(member: RealCluster): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < PODS) await member.ok('/api/v1/namespaces/default/pods', { body: podManifest(podName(next++)) })
  }
  await Promise.all(Array.from({ length: PARALLEL / 2 }, worker))
}

async function total(): Promise<number> {
  return ((await fleet.host.ok(`${CACHE}/api/v1/pods`)) as Page).items.length
}

it('A3: lists each object of the first moment exactly once, whatever changes meanwhile', async () => {
  const seen = new Map<string, number>()
  const touched = new Set<string>()
  let next: string | undefined
  let pages = 0
  do {
    const query = `limit=${PAGE}${next === undefined ? '' : `&continue=${encodeURIComponent(next)}`}`
    const page = (await fleet.host.ok(`${PROXY}/api/v1/pods?${query}`)) as Page
    for (const { metadata } of page.items) {
      const id = `${metadata.annotations['cluster.karmada.io/name']}/${metadata.name}`
      seen.set(id, (seen.get(id) ?? 0) + 1)
    }
    assert.ok(page.items.length <= PAGE)
    next = page.metadata.continue === '' ? undefined : page.metadata.continue
    pages += 1
    await change(pages, touched)
  } while (next !== undefined)
  assert.ok(pages >= (PODS * 2) / PAGE)
  assert.equal(touched.size, TOUCHED)
  for (const member of fleet.members) {
    for (let index = 0; index < PODS; index++) {
      const id = `${member.name}/${podName(index)}`
      assert.equal(seen.get(id), 1, id)
    }
  }
  assert.equal(seen.size, PODS * 2, 'nothing that came later')
})

/** Between two pages: deletes three pods and adds two, here and there in both members, until 50 were touched. */
async function change(step: number, touched: Set<string>): Promise<void> {
  for (let i = 0; i < 5 && touched.size < TOUCHED; i++) {
    const member = fleet.members[i % 2]!
    const name =
      i < 3
        ? podName((step * 947 + i * 1_531) % PODS)
        : `pod-${String((step * 947 + i * 1_531) % PODS).padStart(5, '0')}-new`
    touched.add(`${member.name}/${name}`)
    const pods = '/api/v1/namespaces/default/pods'
    if (i < 3) await member.request(`${pods}/${name}?gracePeriodSeconds=0`, { method: 'DELETE' })
    else await member.ok(pods, { body: podManifest(name) })
  }
}
