/** deploy/rbac.yaml held equal to what our endpoints ask for. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { API_RESOURCE_LIST } from '../../src/apiserver/own-discovery.ts'
import { requestAttributes } from '../../src/apiserver/request-info.ts'
import { readCommandLine, type ServeConfig } from '../../src/app/options/config.ts'
import { Candidate, LeaseServer } from '../leaderelection/lease-world.ts'
import { FakeClock } from '../support/fake-clock.ts'

interface Rule {
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
  readonly verbs: readonly string[]
}

interface ClusterRole {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules: readonly Rule[]
}

const BASE = '/apis/search.karmada.io/v1alpha1'
const text = readFileSync(path.join(import.meta.dirname, '../../deploy/rbac.yaml'), 'utf8')
const roles = parseAllDocuments(text).map((document) => document.toJS() as ClusterRole)

/** As RBAC evaluates rules. */
function allows(name: string, method: string, url: string): boolean {
  const [target = '', query = ''] = url.split('?', 2)
  const attributes = requestAttributes(method, target, new URLSearchParams(query))
  const role = roles.find(({ metadata }) => metadata.name === name)
  assert.ok(role, name)
  return role.rules.some((rule) => {
    if (!rule.verbs.includes(attributes.verb)) return false
    if (!attributes.isResource) return rule.nonResourceURLs?.includes(attributes.path) === true
    const { group, resource, subresource } = attributes
    const whole = subresource === '' ? resource : `${resource}/${subresource}`
    return rule.apiGroups?.includes(group) === true && rule.resources?.includes(whole) === true
  })
}

const READS: readonly (readonly [string, string])[] = [
  ['GET', `${BASE}/search/cache/api/v1/pods`],
  ['HEAD', `${BASE}/search/cache/apis/apps/v1/namespaces/a/deployments/b`],
  ['GET', `${BASE}/search/query?q=a`],
  ['POST', `${BASE}/search/query`],
  ['GET', `${BASE}/search/export/proxy?q=a`],
  ['GET', `${BASE}/proxying/karmada/proxy/api/v1/pods?watch=true`],
  ['GET', `${BASE}/proxying/cluster.member1/proxy/version`],
  ['GET', `${BASE}/resourceregistries`],
  ['GET', `${BASE}/resourceregistries?watch=1`],
  ['GET', `${BASE}/resourceregistries/a`],
  ['GET', `${BASE}/resourceregistries/a/status`],
]
const WRITES: readonly (readonly [string, string])[] = [
  ['POST', `${BASE}/proxying/karmada/proxy/api/v1/namespaces/a/pods`],
  ['PUT', `${BASE}/proxying/karmada/proxy/api/v1/namespaces/a/pods/b`],
  ['PATCH', `${BASE}/proxying/karmada/proxy/api/v1/namespaces/a/pods/b`],
  ['DELETE', `${BASE}/proxying/karmada/proxy/api/v1/namespaces/a/pods`],
]
const DECISIONS: readonly (readonly [string, string])[] = [
  ['POST', `${BASE}/resourceregistries`],
  ['PUT', `${BASE}/resourceregistries/a`],
  ['PATCH', `${BASE}/resourceregistries/a`],
  ['DELETE', `${BASE}/resourceregistries/a`],
  ['DELETE', `${BASE}/resourceregistries`],
  ['PUT', `${BASE}/resourceregistries/a/status`],
  ['PATCH', `${BASE}/resourceregistries/a/status`],
  ['GET', '/metrics'],
]

describe('deploy/rbac.yaml', () => {
  for (const [role, writes, decides] of [
    ['fleetsearch-viewer', false, false],
    ['fleetsearch-editor', true, false],
    ['fleetsearch-admin', true, true],
  ] as const) {
    it(`${role} may do what it says, and no more`, () => {
      for (const [method, url] of READS) assert.ok(allows(role, method, url), `${method} ${url}`)
      for (const [method, url] of WRITES) assert.equal(allows(role, method, url), writes, `${method} ${url}`)
      for (const [method, url] of DECISIONS) assert.equal(allows(role, method, url), decides, `${method} ${url}`)
    })
  }

  it('gives the administrator every verb of discovery', () => {
    const admin = roles.find(({ metadata }) => metadata.name === 'fleetsearch-admin')
    for (const { name, verbs } of API_RESOURCE_LIST.resources) {
      const granted = admin?.rules.filter((rule) => rule.resources?.includes(name)).flatMap((rule) => rule.verbs) ?? []
      for (const verb of verbs) assert.ok(granted.includes(verb), `${verb} ${name}`)
    }
  })

  it('names resources, since RBAC has no wildcard for the subresources of one', () => {
    const ours = roles.filter(({ metadata }) => /^fleetsearch-(viewer|editor|admin)$/.test(metadata.name))
    assert.equal(ours.length, 3)
    for (const { kind, rules } of ours) {
      assert.equal(kind, 'ClusterRole')
      for (const { resources = [], verbs } of rules) {
        assert.ok(![...resources, ...verbs].some((entry) => entry.includes('*')))
      }
    }
  })

  it('lets Fleetsearch do with its Leases what the election and the replicas ask for, and nothing with others', async () => {
    const role = roles.find(({ metadata }) => metadata.name === 'fleetsearch-leader-election')
    const line = readCommandLine(['serve'], {}, '0.0.0')
    const election = 'run' in line ? (line.run as ServeConfig).leaderElection : undefined
    assert.ok(role && election)
    assert.deepEqual([role.kind, role.metadata.namespace], ['Role', election.lease.namespace])
    const clock = new FakeClock()
    const server = new LeaseServer()
    const candidate = new Candidate('a', clock, server).start()
    await clock.advance(5_000)
    await candidate.stop()
    const verbs: Readonly<Record<string, string>> = { GET: 'get', POST: 'create', PUT: 'update' }
    const asked = new Set(server.requests.map((request) => verbs[request.split(' ')[0] ?? '']))
    const peers = 'run' in line ? (line.run as ServeConfig).peers : undefined
    const names = [election.lease.name, peers?.lease.name]
    for (const { apiGroups, resources, resourceNames, verbs } of role.rules) {
      assert.deepEqual([apiGroups, resources], [['coordination.k8s.io'], ['leases']])
      assert.deepEqual(resourceNames, verbs.includes('create') ? undefined : names)
    }
    assert.deepEqual(new Set(role.rules.flatMap((rule) => rule.verbs)), asked)
  })
})
