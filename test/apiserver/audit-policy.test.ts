import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AuditPolicyError, parseAuditPolicy } from '../../src/apiserver/audit/policy.ts'
import { requestAttributes } from '../../src/apiserver/request-info.ts'
import type { UserInfo } from '../../src/http/api-request.ts'

const BASE = '/apis/search.karmada.io/v1alpha1'
const BOB: UserInfo = { name: 'bob', uid: '', groups: ['dev', 'ops'], extra: {} }

function policy(...rules: string[]) {
  return parseAuditPolicy(
    `apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n${rules.map((rule) => `- ${rule}\n`).join('')}`,
  )
}

function levelOf(rules: string[], method: string, path: string, user: UserInfo | null = BOB): string {
  return policy(...rules).ruleFor(user ?? undefined, requestAttributes(method, path, new URLSearchParams())).level
}

function faults(text: string): string[] {
  try {
    parseAuditPolicy(text)
  } catch (error) {
    assert.ok(error instanceof AuditPolicyError)
    return error.message.split('\n')
  }
  return []
}

describe('audit policy', () => {
  it('is the first rule that matches, and None where none does', () => {
    const rules = ['{level: Metadata, users: [alice]}', '{level: Request, userGroups: [ops]}', '{level: None}']
    assert.equal(levelOf(rules, 'GET', '/version'), 'Request')
    assert.equal(levelOf(rules, 'GET', '/version', { ...BOB, name: 'alice' }), 'Metadata')
    assert.equal(levelOf(rules, 'GET', '/version', { ...BOB, groups: [] }), 'None')
    assert.equal(levelOf(rules.slice(0, 2), 'GET', '/version', null), 'None')
    assert.equal(
      policy('{level: Metadata}').ruleFor(undefined, requestAttributes('GET', '/', new URLSearchParams())).level,
      'Metadata',
    )
  })

  it('matches verbs, resources, subresources and names as a kube-apiserver does', () => {
    const get = (rule: string, path: string, method = 'GET'): boolean =>
      levelOf([rule], method, `${BASE}${path}`) !== 'None'
    const of = (resources: string, more = ''): string =>
      `{level: Metadata, resources: [{group: search.karmada.io, resources: [${resources}]${more}}]}`
    assert.ok(get(of('search/api'), '/search/cache/api/v1/pods'))
    assert.ok(!get(of('search'), '/search/cache/api/v1/pods'))
    assert.ok(get(of('search'), '/search/query'))
    assert.ok(get(of('search/*'), '/search/cache/api/v1/pods'))
    assert.ok(get(of("'*/proxy'"), '/proxying/x/proxy/api'))
    assert.ok(!get(of("'*/proxy'"), '/proxying/x'))
    assert.ok(get(of("'*'"), '/resourceregistries/a'))
    assert.ok(get(of('resourceregistries', ', resourceNames: [a]'), '/resourceregistries/a'))
    assert.ok(!get(of('resourceregistries', ', resourceNames: [a]'), '/resourceregistries/b'))
    assert.ok(!get(of('resourceregistries', ', resourceNames: [a]'), '/resourceregistries'))
    assert.ok(get("{level: Metadata, resources: [{group: '*'}]}", '/search/query'))
    assert.ok(!get("{level: Metadata, resources: [{group: ''}]}", '/search/query'))
    assert.ok(get("{level: Metadata, namespaces: ['']}", '/search/query'))
    assert.ok(!get('{level: Metadata, namespaces: [a]}', '/search/query'))
    assert.ok(get('{level: Metadata, verbs: [delete]}', '/resourceregistries/a', 'DELETE'))
    assert.ok(!get('{level: Metadata, verbs: [delete]}', '/resourceregistries', 'DELETE'))
    assert.equal(levelOf(['{level: Metadata, namespaces: [""]}'], 'GET', '/version'), 'None')
  })

  it('matches other URLs, with a * at the end', () => {
    const rule = (url: string): string[] => [`{level: Metadata, nonResourceURLs: ['${url}']}`]
    assert.equal(levelOf(rule('/healthz*'), 'GET', '/healthz/ping'), 'Metadata')
    assert.equal(levelOf(rule('/healthz'), 'GET', '/healthz/ping'), 'None')
    assert.equal(levelOf(rule('*'), 'GET', '/anything'), 'Metadata')
    assert.equal(levelOf(rule('*'), 'GET', `${BASE}/search/query`), 'None')
  })

  it('joins the stages left out for all with those of the rule, and lets a rule say what of managed fields', () => {
    const parsed = parseAuditPolicy(`
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- {level: Request, verbs: [get], omitStages: [Panic]}
- {level: Request, omitManagedFields: false}
`)
    const get = parsed.ruleFor(BOB, requestAttributes('GET', '/', new URLSearchParams()))
    assert.deepEqual([...get.omitStages].sort(), ['Panic', 'RequestReceived'])
    assert.equal(get.omitManagedFields, true)
    const post = parsed.ruleFor(BOB, requestAttributes('POST', '/', new URLSearchParams()))
    assert.deepEqual([...post.omitStages], ['RequestReceived'])
    assert.equal(post.omitManagedFields, false)
  })

  it('names every fault, misspelt fields too', () => {
    assert.deepEqual(
      faults(`
apiVersion: audit.k8s.io/v1beta1
kind: Policies
omitStages: [Never]
rules:
- {level: Some, user: [bob]}
- {level: Metadata, nonResourceURLs: [healthz, '/a*b'], resources: [{group: apps/v1, resourceNames: [a]}]}
- 7
`),
      [
        'kind: must be Policy',
        'apiVersion: must be audit.k8s.io/v1',
        'omitStages: "Never" is none of RequestReceived, ResponseStarted, ResponseComplete, Panic',
        'rules[0].user: unknown field',
        'rules[0].level: must be one of None, Metadata, Request, RequestResponse',
        'rules[1].resources[0].group: must be an API group, without a version',
        'rules[1].resources[0].resourceNames: needs at least one entry in resources',
        'rules[1].nonResourceURLs[0]: must begin with a slash',
        'rules[1].nonResourceURLs[1]: * may stand at the end only',
        'rules[1].nonResourceURLs: a rule is for resources or for other URLs, not for both',
        'rules[2]: must be an object',
        'rules[2].level: must be one of None, Metadata, Request, RequestResponse',
      ],
    )
    assert.deepEqual(faults('{apiVersion: audit.k8s.io/v1, kind: Policy}'), [
      'rules: a policy without rules records nothing',
    ])
    assert.match(faults('{')[0] ?? '', /^not YAML: /)
    assert.equal(faults('').length > 0, true)
  })
})
