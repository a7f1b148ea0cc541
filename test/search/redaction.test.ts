/**
 * Nothing that search answers depends on a redacted value: two fleets that differ in nothing else answer every question in the same
 * words, whatever is guessed, sorted, counted, completed or exported.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redactionOf } from '../../src/kube/redaction.ts'
import { TestFleet } from '../proxy/fleet-fixture.ts'
import { withSearch } from './served-search.ts'

const CONFIG = { group: '', version: 'v1', resource: 'configmaps' }
const RULES = 'ConfigMap: data.password, spec.users.token, spec.seed, metadata.annotations["example.io/seed"]'

/** Three objects whose order by the values is another for each choice of them. */
function fleetWith(values: readonly string[], redaction: string): TestFleet {
  const fleet = new TestFleet().register(CONFIG, 'ConfigMap', true, redaction)
  const objects = values.map((value, i) => ({
    metadata: {
      name: `c${i}`,
      namespace: 'shop',
      uid: `u${i}`,
      creationTimestamp: '2026-11-30T00:00:00Z',
      labels: { app: 'shop' },
      annotations: {
        'example.io/seed': value,
        'kubectl.kubernetes.io/last-applied-configuration': `{"data":{"password":"${value}"}}`,
      },
      managedFields: [{ manager: 'm', fieldsV1: { [`v:"${value}"`]: {} } }],
    },
    data: { password: value, user: `user-${i}` },
    spec: { users: [{ name: 'a', token: value }], seed: value.length * 1_000 + i, image: 'nginx' },
  }))
  fleet.shard('m1', CONFIG, 'ConfigMap').list(objects, 5)
  return fleet
}

const SECRETS = [
  ['hunter2-alpha', 'hunter2-beta', 'zebra'],
  ['zzz', 'an-entirely-different-and-longer-one', '10.2.3.4'],
] as const

const QUESTIONS: readonly [endpoint: string, parameters: Record<string, string>, accept?: string][] = [
  ['query', { q: 'hunter2' }],
  ['query', { q: 'hunter2-alpha', highlight: 'true' }],
  ['query', { q: '"hunter2-alpha"', explain: 'true' }],
  ['query', { q: 'huntr2' }],
  ['query', { q: 'zebra or zzz' }],
  ['query', { q: 'data.password=hunter2-alpha' }],
  ['query', { q: 'data.password:hunter*' }],
  ['query', { q: 'data.password~^hun' }],
  ['query', { q: 'data.password>m' }],
  ['query', { q: 'spec.seed>10000' }],
  ['query', { q: '-data.password=zebra' }],
  ['query', { q: 'data.password:*' }],
  ['query', { q: 'spec.users.token=zebra' }],
  ['query', { q: 'annotation.example.io/seed=zebra' }],
  ['query', { q: 'annotation.example.io/seed:*' }],
  ['query', { q: 'ip:10.0.0.0/8' }],
  ['query', { q: 'kind:ConfigMap', sort: 'data.password' }],
  ['query', { q: 'kind:ConfigMap', sort: '-data.password' }],
  ['query', { q: 'kind:ConfigMap', sort: 'spec.seed' }],
  ['query', { q: 'kind:ConfigMap', facets: 'data.password' }],
  ['query', { q: 'kind:ConfigMap', facets: 'spec.users.token,spec.seed' }],
  ['query', { q: 'kind:ConfigMap', fields: 'name,data.password,spec.seed' }],
  ['query', { q: 'kind:ConfigMap' }, 'application/x-ndjson'],
  ['query', { q: 'kind:ConfigMap', fields: 'name,data.password' }, 'text/csv'],
  ['aggregate', { q: 'kind:ConfigMap', by: 'data.password' }],
  ['aggregate', { q: 'kind:ConfigMap', sum: 'spec.seed' }],
  ['aggregate', { q: 'kind:ConfigMap', max: 'spec.seed', min: 'spec.seed' }],
  ['suggest', { q: 'hun' }],
  ['suggest', { q: 'data.password:' }],
  ['suggest', { q: 'data.password:z' }],
  ['suggest', { field: 'data.password', prefix: 'h' }],
  ['fields', {}],
  ['fields', { kind: 'ConfigMap' }],
  ['related', { cluster: 'm1', kind: 'ConfigMap', namespace: 'shop', name: 'c0' }],
  ['lookup', { ip: '10.2.3.4' }],
]

async function answers(fleet: TestFleet): Promise<string[]> {
  const found: string[] = []
  await withSearch(fleet, async ({ ask }) => {
    for (const [endpoint, parameters, accept = 'application/json'] of QUESTIONS) {
      const { status, text } = await ask(endpoint, parameters, { headers: { accept } })
      found.push(`${endpoint} ${JSON.stringify(parameters)} ${status} ${text}`)
    }
  })
  return found
}

test('no answer of search depends on a redacted value', async (t) => {
  const redaction = redactionOf([RULES], { group: '', kind: 'ConfigMap' })
  const [one, other] = [
    await answers(fleetWith(SECRETS[0], redaction)),
    await answers(fleetWith(SECRETS[1], redaction)),
  ]
  assert.deepEqual(one, other)
  const served = one.filter((answer) => / 200 /.test(answer))
  t.diagnostic(`${served.length} of ${one.length} questions were answered`)
  assert.ok(served.length > QUESTIONS.length / 2)
  for (const answer of one) {
    const [, echoed = ''] = /^\S+ (\{.*?\}) \d+ /.exec(answer) ?? []
    if (!/hunter2|zebra/.test(echoed)) assert.doesNotMatch(answer, /hunter2|zebra/)
  }
})

test('the questions would tell the values apart, were they not redacted', async () => {
  const [one, other] = [await answers(fleetWith(SECRETS[0], '')), await answers(fleetWith(SECRETS[1], ''))]
  const same = one.filter((answer, i) => answer === other[i])
  assert.ok(same.length < one.length / 2, `${same.length} of ${one.length} are the same`)
})
