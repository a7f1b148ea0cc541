import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isStatusError } from '../../../src/kube/status-error.ts'
import { targetOf } from '../../../src/search/passthrough/target.ts'

test('an id has the slashes of documents’ ids, as they are or encoded', () => {
  for (const id of ['member1//pods/shop/web', 'member1%2F%2Fpods%2Fshop%2Fweb']) {
    const target = targetOf(`/kubernetes-pod/_doc/${id}`)
    assert.ok(target.type === 'document')
    assert.deepEqual([target.id, target.indices.kinds], ['member1//pods/shop/web', ['pod']])
  }
})

test('there are indices of karmada-search’s names alone, and operations that only read', () => {
  const refused = [
    ...[
      '.kibana',
      'fleetsearch-a-pod',
      'kubernetes-pod,.security',
      '-kubernetes-pod',
      'kubernetes-1*',
      'a:kubernetes-pod',
    ],
    ...['kubernetes-%2e%2e%2f_search', '%3Ckubernetes-pod%3E', 'kubernetes-'],
  ].map((index) => `/${index}/_search`)
  const operations = ['/kubernetes-pod/_doc', '/kubernetes-pod/_update/1', '/_bulk', '/_cat/nodes', '/_cluster/health']
  for (const path of [...refused, ...operations, '/_search/scroll', '/_sql', '/%', '/api/v1/pods']) {
    assert.throws(
      () => targetOf(path),
      (error) => isStatusError(error, 'badRequest') || isStatusError(error, 'notFound'),
      path,
    )
  }
  assert.throws(() => targetOf('/api/v1/pods'), /search\/cache\/api\/v1\/pods/)
})
