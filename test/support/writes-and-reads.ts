/** Writes pods of member m2 through one replica, and reads them at once through another. */
import assert from 'node:assert/strict'
import { BASE, PROXY } from './karmada-fleet.ts'
import { podManifest } from './manifests.ts'
import type { TestClient, TestResponse } from './real-parts/index.ts'

const PODS = '/api/v1/namespaces/default/pods'
const CHOSEN = `${BASE}/proxying/cluster.m2/proxy`

interface Listed {
  readonly items: readonly { readonly metadata: { readonly name: string } }[]
}

export class WritesAndReads {
  readonly #writer: TestClient
  readonly #reader: TestClient

  constructor(writer: TestClient, reader: TestClient) {
    this.#writer = writer
    this.#reader = reader
  }

  async make(name: string): Promise<void> {
    await this.#writer.ok(CHOSEN + PODS, { body: podManifest(name) })
    await this.#isShown(name, undefined)
  }

  async change(name: string, value: string): Promise<void> {
    await this.#patch(this.#writer, name, value)
    await this.#isShown(name, value)
  }

  async remove(name: string): Promise<void> {
    await this.#writer.ok(`${PROXY}${PODS}/${name}?gracePeriodSeconds=0`, { method: 'DELETE' })
    const answer = await this.#reader.request(`${PROXY}${PODS}/${name}`)
    assert.equal(answer.status, 404, answer.text)
    assert.ok(!(await this.#names('')).includes(name), `${name} is gone from the list`)
  }

  async round(name: string): Promise<void> {
    const pod = name.replaceAll(' ', '-')
    await this.make(pod)
    await this.change(pod, 'changed')
    await this.remove(pod)
  }

  /** Each replica changes what it has just read; a version that was old would be a conflict. */
  async takeTurns(name: string, turns: number): Promise<void> {
    await this.make(name)
    const clients = [this.#writer, this.#reader] as const
    for (let turn = 0; turn < turns; turn++) {
      const client = clients[turn % 2]!
      const pod = (await client.ok(`${PROXY}${PODS}/${name}`)) as { metadata: { labels: Record<string, string> } }
      assert.equal(pod.metadata.labels['turn'], turn === 0 ? undefined : `${turn - 1}`)
      pod.metadata.labels['turn'] = `${turn}`
      await client.ok(`${PROXY}${PODS}/${name}`, { method: 'PUT', body: pod })
    }
    await this.remove(name)
  }

  /** Whether the reader reads pods from their members now. */
  async isLive(): Promise<boolean> {
    const before = await this.waits()
    await this.#names('')
    const after = await this.waits()
    return after.some((count, i) => count !== before[i])
  }

  /** How often the reader has read from the members: because another replica was silent, because something did not arrive. */
  async waits(): Promise<[uncovered: number, live: number]> {
    const { text } = await this.#reader.request('/metrics')
    const of = (outcome: string): number =>
      Number(new RegExp(`fence_waits_total\\{outcome="${outcome}"\\} (\\d+)`).exec(text)?.[1] ?? 0)
    return [of('uncovered'), of('live')]
  }

  async #isShown(name: string, value: string | undefined): Promise<void> {
    const answer = await this.#reader.request(`${PROXY}${PODS}/${name}`)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(labelOf(answer), value)
    if (value !== undefined) assert.deepEqual(await this.#names(`?labelSelector=written=${value}`), [name])
    else assert.ok((await this.#names('')).includes(name), `${name} is in the list`)
  }

  async #names(query: string): Promise<string[]> {
    const { items } = (await this.#reader.ok(`${PROXY}/api/v1/pods${query}`)) as Listed
    return items.map(({ metadata }) => metadata.name)
  }

  async #patch(client: TestClient, name: string, value: string): Promise<void> {
    await client.ok(`${PROXY}${PODS}/${name}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ metadata: { labels: { written: value } } }),
    })
  }
}

const labelOf = ({ text }: TestResponse): unknown =>
  (JSON.parse(text) as { metadata: { labels: Record<string, string> } }).metadata.labels['written']
