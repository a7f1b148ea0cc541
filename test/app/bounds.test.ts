/** Members with more than is allowed, or with what nobody can read: nothing is left out in silence. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startFakeMember, type FakeMember, type NewObject } from '../support/fake-member.ts'
import { podManifest } from '../support/manifests.ts'
import { eventually, startWholeService, type WholeService, type WholeServiceOptions } from '../support/whole-service.ts'

const BASE = '/apis/search.karmada.io/v1alpha1'
const PODS = `${BASE}/search/cache/api/v1/pods`

interface Fixture {
  readonly service: WholeService
  readonly member: FakeMember
}

const pod = (name: string): NewObject => podManifest(name) as NewObject

async function withMember(
  pods: number,
  options: WholeServiceOptions,
  body: (fixture: Fixture) => Promise<void>,
): Promise<void> {
  const member = await startFakeMember({ objects: Array.from({ length: pods }, (_, at) => pod(`web-${at}`)) })
  const service = await startWholeService(options)
  try {
    service.join('m1', member.url)
    await body({ service, member })
    assert.deepEqual(service.faults, [])
  } finally {
    await service.stop()
    await member.close()
  }
}

const namesIn = (text: string): string[] =>
  (JSON.parse(text) as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name)

describe('a cluster with more than is allowed', () => {
  it('has no object of the resource in answers, which say so, and so do metrics and the log', async () => {
    await withMember(4, { maxObjectsPerResource: 3 }, async ({ service, member }) => {
      await service.register('all', 'v1/Pod')
      let answer = await service.request(PODS)
      await eventually(async () => {
        answer = await service.request(PODS)
        return answer.headers['fleetsearch-freshness'] === 'm1;missing;0'
      }, 'the cluster that is missing')
      assert.deepEqual(namesIn(answer.text), [])
      assert.match(String(answer.headers['warning']), /m1 \(m1\/v1\/pods: has more than the 3 objects that are kept/)
      const { text: metrics } = await service.request('/metrics')
      assert.match(metrics, /^fleetsearch_cache_shards_beyond_bound\{resource="v1\/pods"\} 1$/m)
      assert.match(metrics, /^fleetsearch_reflector_failures_total\{.*code="tooMany"\} 1$/m)
      assert.ok(service.log.some(({ msg, gvr }) => msg === 'cannot follow a resource; retrying' && gvr === 'v1/pods'))
      assert.equal(member.watches('pods').length, 0)
    })
  })

  it('stays as it was, stale, where it grows beyond that while it is watched', async () => {
    await withMember(3, { maxObjectsPerResource: 3 }, async ({ service, member }) => {
      await service.register('all', 'v1/Pod')
      await eventually(async () => namesIn((await service.request(PODS)).text).length === 3, 'the pods')
      await member.until(() => member.watches('pods').length === 1)
      member.put(pod('web-0')) // changed, not added: there is room for it
      member.put(pod('one-too-many'))
      const fresh = async (): Promise<string> => String((await service.request(PODS)).headers['fleetsearch-freshness'])
      await eventually(async () => /^m1;stale;/.test(await fresh()), 'the stale cluster')
      assert.deepEqual(namesIn((await service.request(PODS)).text), ['web-0', 'web-1', 'web-2'])
    })
  })

  it('has as many resources as are allowed, and the others are missing by name', async () => {
    await withMember(1, { maxResourcesPerCluster: 1 }, async ({ service, member }) => {
      await service.register('all', 'v1/Pod', 'v1/Node')
      await eventually(() => service.log.some(({ reason }) => reason === 'TooManyResources'), 'the word in the log')
      const told = service.log.find(({ reason }) => reason === 'TooManyResources')?.['problem']
      assert.equal(told, 'm1 has 1 more resources than the 1 that are cached of a cluster')
      const nodes = async (): Promise<string> =>
        String((await service.request(PODS.replace('pods', 'nodes'))).headers['fleetsearch-freshness'])
      await eventually(async () => /^m1;live;/.test(await nodes()), 'the one that is cached')
      const answer = await service.request(PODS)
      assert.match(String(answer.headers['fleetsearch-freshness']), /^m1;missing;/)
      assert.match(String(answer.headers['warning']), /more resources of this cluster are asked for than are cached/)
      assert.equal(member.requested({ resource: 'pods' }).length, 0, 'it is not even asked for them')
    })
  })
})

describe('objects that nobody can read', () => {
  it('are counted in the warning of answers and in metrics', async () => {
    await withMember(2, {}, async ({ service, member }) => {
      member.misbehave({
        on: { resource: 'pods', watch: false },
        fault: {
          type: 'body',
          text: '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1002"},"items":[{"metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"4"}},{"metadata":{"name":7}}]}',
        },
      })
      await service.register('all', 'v1/Pod')
      await eventually(async () => namesIn((await service.request(PODS)).text).length === 1, 'the readable one')
      await eventually(async () => (await service.request(PODS)).headers['warning'] !== undefined, 'the warning')
      const { headers } = await service.request(PODS)
      assert.equal(
        String(headers['warning']),
        '299 - "1 of 1 clusters is incomplete: m1 (objects that could not be read: 1)"',
      )
      assert.match(
        (await service.request('/metrics')).text,
        /^fleetsearch_cache_objects_left_out\{resource="v1\/pods"\} 1$/m,
      )
    })
  })
})
