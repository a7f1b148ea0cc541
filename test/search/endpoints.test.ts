import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { customColumns, defaultColumns } from '../../src/kube/columns/index.ts'
import { csvText } from '../../src/search/row-format.ts'
import { pod, podFleet, PODS, TestFleet, NODES } from '../proxy/fleet-fixture.ts'
import { fleetOfTwo, withSearch, type Json } from './served-search.ts'

const requesting = (name: string, memory: string | undefined, restarts: number, created: string) =>
  pod('shop', name, {
    metadata: { name, creationTimestamp: created, labels: { app: name.split('-')[0] ?? '' } },
    spec: { containers: [{ name: 'c', resources: { requests: memory === undefined ? {} : { memory } } }] },
    status: { phase: 'Running', containerStatuses: [{ restartCount: restarts }] },
  })

const metered = () =>
  podFleet({
    member1: {
      objects: [
        requesting('web-1', '1Gi', 3, '2026-11-28T01:00:00Z'),
        requesting('web-2', '512Mi', 0, '2026-11-28T23:00:00Z'),
        requesting('db-0', undefined, 1, '2026-11-29T00:00:00Z'),
      ],
      version: 7,
    },
    member2: { objects: [requesting('web-1', '1.5Gi', 12, '2026-11-29T05:00:00Z')], version: 9 },
  })

test('aggregate: groups with sums and percentiles, totals and freshness', async () => {
  await withSearch(metered(), async ({ json }) => {
    const found = await json('aggregate', {
      q: 'kind:Pod',
      by: 'label.app',
      metrics: 'sum(memory),p50(restarts),max(created),distinct(cluster)',
      sort: '-sum(memory)',
    })
    assert.equal(found.kind, 'AggregateResult')
    assert.deepEqual([found.total, found.totalIsExact, found.distinct], [4, true, 2])
    assert.deepEqual(found.groups, [
      {
        keys: { 'label.app': 'web' },
        count: 3,
        metrics: {
          'sum(memory)': 3 * 1024 ** 3,
          'p50(restarts)': 3,
          'max(created)': '2026-11-29T05:00:00Z',
          'distinct(cluster)': 2,
        },
      },
      {
        keys: { 'label.app': 'db' },
        count: 1,
        metrics: {
          'sum(memory)': null,
          'p50(restarts)': 1,
          'max(created)': '2026-11-29T00:00:00Z',
          'distinct(cluster)': 1,
        },
      },
    ])
    assert.deepEqual(
      found.freshness.map(({ cluster }: Json) => cluster),
      ['member1', 'member2'],
    )
    const days = await json('aggregate', { by: 'created:day,cluster', sort: 'key' })
    assert.deepEqual(
      days.groups.map(({ keys, count }: Json) => [...Object.values(keys), count]),
      [
        ['2026-11-28', 'member1', 2],
        ['2026-11-29', 'member1', 1],
        ['2026-11-29', 'member2', 1],
      ],
    )
    const all = await json('aggregate', { cluster: 'member1', metrics: 'avg(restarts)' })
    assert.deepEqual(all.groups, [{ keys: {}, count: 3, metrics: { 'avg(restarts)': 1.3333333333333333 } }])
    const cut = await json('aggregate', { by: 'name', limit: '1' })
    assert.match(cut.warnings[0], /3 groups, of which the first 1 are shown/)
    const missing = await json('aggregate', { by: 'label.none' })
    assert.deepEqual(missing.groups, [{ keys: { 'label.none': null }, count: 4 }])
    assert.deepEqual((await json('aggregate', { by: 'label.none', missing: 'false' })).groups, [])
  })
})

test('aggregate: what cannot be asked is a 400 that names the parameter', async () => {
  await withSearch(metered(), async ({ ask }) => {
    const bad: [Record<string, string>, RegExp][] = [
      [{ by: 'nofield' }, /by: "nofield" is no field/],
      [{ by: 'a,b,c,d,e' }, /by: more than 4/],
      [{ by: 'status:day' }, /by: "status" has no times/],
      [{ metrics: 'median(memory)' }, /metrics: "median\(memory\)" is none of/],
      [{ metrics: 'sum(status)' }, /"status" has no numbers/],
      [{ metrics: 'sum(created)' }, /"created" is a time, which has no sum/],
      [{ metrics: 'p0(memory)' }, /none of/],
      [{ sort: 'sum(memory)' }, /sort: "sum\(memory\)" is neither/],
      [{ limit: '0' }, /limit/],
      [{ missing: 'perhaps' }, /missing/],
    ]
    for (const [parameters, message] of bad) {
      const { status, json } = await ask('aggregate', parameters)
      assert.equal(status, 400, JSON.stringify(parameters))
      assert.match(json.message, message)
    }
  })
})

test('suggest: fields, values, names and words, with counts of what the rest of the query finds', async () => {
  await withSearch(fleetOfTwo(), async ({ json }) => {
    const items = async (q: string): Promise<string[]> =>
      (await json('suggest', { q })).items.map(({ type, text, count }: Json) => `${type} ${text} ${count ?? ''}`.trim())
    assert.deepEqual(await items('res'), ['field resource:', 'field restarts:'])
    assert.deepEqual(await items('ns:s'), ['value shop 4'])
    assert.deepEqual(await items('cluster:member2 name:'), ['value web-1 1'])
    assert.deepEqual(await items('image:ngi'), [
      'value docker.io/library/nginx:1.25 1',
      'value nginx:1.24 1',
      'value nginx:1.25 1',
    ])
    assert.deepEqual((await items('po')).slice(-3), ['value kind:Pod 4', 'word pod 4', 'word postgres 1'])
    assert.deepEqual(await items('we'), ['field webhooks:', 'name web-1 2', 'name web-2 1', 'word web 3'])
    assert.deepEqual(await items('kind:Pod label.a'), ['field label.app:'])
    assert.deepEqual(await items('spec.c'), ['field spec.containers:'])
    assert.deepEqual(await items('status:(Pending,Run'), ['value Running 4'])
    const { replace } = await json('suggest', { q: 'kind:Pod -status:Ru' })
    assert.deepEqual(replace, { from: 17, to: 19 })
    for (const q of ['', '(', '"', 'a OR ', '-', 'ns:"', '🚀', 'x'.repeat(10_000)]) await json('suggest', { q })
  })
})

test('fields: every field with its types, kinds, operators and examples that parse', async () => {
  await withSearch(fleetOfTwo(), async ({ json }) => {
    const { fields, patterns, total } = await json('fields', {})
    assert.equal(total, fields.length)
    const restarts = fields.find(({ name }: Json) => name === 'restarts')
    assert.deepEqual(restarts, {
      name: 'restarts',
      aliases: [],
      types: ['int'],
      kinds: ['Pod'],
      operators: [':', '=', '!=', '<', '<=', '>', '>='],
      sort: true,
      examples: ['restarts>3'],
    })
    assert.deepEqual(fields.find(({ name }: Json) => name === 'namespace').aliases, ['ns'])
    for (const { examples } of [...fields, ...patterns]) {
      for (const q of examples)
        if (!q.startsWith('cluster')) assert.deepEqual((await json('query', { q, limit: '1' })).warnings, undefined, q)
    }
    const ofNode = await json('fields', { kind: 'node', prefix: 'mem' })
    assert.deepEqual(
      ofNode.fields.map(({ name }: Json) => name),
      ['memory'],
    )
  })
})

test('POST takes the same parameters as JSON', async () => {
  await withSearch(fleetOfTwo(), async ({ api }) => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ q: 'restarts>0', limit: 2, facets: ['cluster', 'ns'], sort: 'name' })
    const { status, json } = await api.ask('/query', { method: 'POST', headers, body })
    assert.equal(status, 200)
    assert.deepEqual([json.total, json.items.length, Object.keys(json.facets)], [3, 2, ['cluster', 'ns']])
    for (const bad of ['[]', '{', '{"q":{}}', '{"q":null}']) {
      assert.equal((await api.ask('/query', { method: 'POST', headers, body: bad })).status, 400, bad)
    }
    const huge = JSON.stringify({ q: 'x'.repeat(1024 * 1024) })
    assert.equal((await api.ask('/query', { method: 'POST', headers, body: huge })).status, 413)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    assert.equal((await api.ask('/query', { method: 'POST', headers: form, body: 'q=a' })).status, 415)
  })
})

test('NDJSON and CSV are all there is, row by row', async () => {
  await withSearch(fleetOfTwo(), async ({ ask }) => {
    const accept = (type: string): { headers: Record<string, string> } => ({ headers: { accept: type } })
    const lines = await ask('query', { q: 'kind:Pod', sort: 'name' }, accept('application/x-ndjson'))
    assert.equal(lines.headers['content-type'], 'application/x-ndjson')
    assert.deepEqual([lines.headers['fleetsearch-total'], lines.headers['fleetsearch-total-is-exact']], ['4', 'true'])
    const objects = lines.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Json)
    assert.deepEqual(
      objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      ['Pod db-0', 'Pod web-1', 'Pod web-1', 'Pod web-2'],
    )
    const csv = await ask(
      'query',
      { q: 'web-1', fields: 'cluster,restarts,image,label.none', sort: 'cluster' },
      accept('text/csv'),
    )
    assert.equal(
      csv.text,
      'cluster,restarts,image,label.none\r\nmember1,3,nginx:1.25,\r\nmember2,12,docker.io/library/nginx:1.25,\r\n',
    )
    const two = await ask('query', { q: '', limit: '2' }, accept('text/csv'))
    assert.equal(two.text.split('\r\n').length, 4)
    const groups = await ask('aggregate', { by: 'cluster', metrics: 'sum(restarts)' }, accept('text/csv'))
    assert.equal(groups.text, 'cluster,count,sum(restarts)\r\nmember1,3,4\r\nmember2,1,12\r\n')
    assert.equal((await ask('query', {}, accept('image/png'))).status, 406)
  })
})

test('CSV is safe in a spreadsheet', () => {
  for (const evil of [
    '=HYPERLINK("http://x")',
    '+1',
    '-1+1',
    '@SUM(A1)',
    '\tx',
    '\r=x',
    ' =1',
    '\ufeff=1',
    '\0x',
    '＝1',
    '\u200b＠SUM(A1)',
  ]) {
    assert.match(csvText(evil), /^"?'/, evil)
  }
  assert.equal(csvText('a "b", c'), '"a ""b"", c"')
  assert.equal(csvText('a\nb'), '"a\nb"')
  assert.equal(csvText('plain-1'), 'plain-1')
})

test('highlights show where the words stand', async () => {
  await withSearch(fleetOfTwo(), async ({ json }) => {
    const { items } = await json('query', { q: 'nginx web', cluster: 'member2', highlight: 'true', fields: 'name' })
    assert.deepEqual(
      items[0].highlights,
      [
        { path: 'name', text: 'web-1', marks: [[0, 3]] },
        { path: 'label.app', text: 'app=web', marks: [[4, 7]] },
        { path: 'image', text: 'docker.io/library/nginx:1.25', marks: [[18, 23]] },
        { path: 'namespace', text: 'shop/web-1', marks: [[5, 8]] },
      ].filter(({ path }) => path !== 'namespace'),
    )
  })
})

test('a typing error finds what was meant, and says so; not where the query finds something', async () => {
  await withSearch(fleetOfTwo(), async ({ json }) => {
    const found = await json('query', { q: 'ngnix restarts>0', explain: 'true' })
    assert.deepEqual([found.total, found.warnings], [2, ['nothing has "ngnix": searched for nginx']])
    assert.deepEqual(found.explain.expansions, [{ word: 'ngnix', terms: ['nginx'] }])
    assert.equal((await json('query', { q: '"ngnix"' })).total, 0)
    assert.equal((await json('query', { q: 'ngnix', typos: 'false' })).total, 0)
    assert.equal((await json('query', { q: 'nginx restarts>99' })).warnings, undefined)
    assert.equal((await json('query', { q: 'label.app:wev' })).total, 0)
    const first = await json('query', { q: 'ngnix', limit: '1' })
    const second = await json('query', { q: 'ngnix', limit: '9', continue: first.continue })
    assert.equal(first.items.length + second.items.length, 3)
  })
})

test('I6: an unknown cluster is the same 404 by parameter and in the query', async () => {
  await withSearch(fleetOfTwo(), async ({ ask, json }) => {
    const answers = [
      await ask('query', { q: 'kind:Pod', cluster: 'nope' }),
      await ask('query', { q: 'kind:Pod cluster:nope' }),
      await ask('query', { q: 'kind:Pod cluster=nope' }),
      await ask('query', { q: '(a OR -cluster!=nope)' }),
      await ask('aggregate', { by: 'kind', cluster: 'nope' }),
      await ask('aggregate', { q: 'cluster=nope' }),
    ]
    for (const { status, json: body } of answers) {
      assert.deepEqual([status, body.reason], [404, 'NotFound'])
      assert.equal(body.message, 'clusters.cluster.karmada.io "nope" not found')
    }
    assert.equal((await json('query', { q: '', cluster: 'member*' })).total, 4)
    assert.equal((await json('query', { q: '', cluster: 'member2' })).total, 1)
    assert.equal((await json('query', { q: 'cluster:none*' })).total, 0)
  })
})

test('addresses by network, texts by regular expression', async () => {
  const node = (name: string, address: string) => ({
    metadata: { name, uid: name },
    status: { addresses: [{ type: 'InternalIP', address }] },
  })
  const fleet = new TestFleet().register(NODES, 'Node', false)
  fleet
    .shard('member1', NODES, 'Node', false)
    .list([node('n1', '10.1.2.3'), node('n2', '10.200.0.1'), node('n3', 'fd00::1')], 1)
  await withSearch(fleet, async ({ json, ask }) => {
    const names = async (q: string): Promise<string[]> =>
      (await json('query', { q, sort: 'name', fields: 'name' })).items.map(({ fields }: Json) => fields.name)
    assert.deepEqual(await names('ip:10.0.0.0/8'), ['n1', 'n2'])
    assert.deepEqual(await names('ip:10.0.0.0/9'), ['n1'])
    assert.deepEqual(await names('-ip:10.0.0.0/8'), ['n3'])
    assert.deepEqual(await names('ip=fd00::/16'), ['n3'])
    assert.deepEqual(await names('name~^n[12]$'), ['n1', 'n2'])
    assert.deepEqual(await names('name~(1|3)'), ['n1', 'n3'])
    const { status, json: refused } = await ask('query', { q: 'kind:Node name~n(?=1)' })
    assert.equal(status, 400)
    assert.match(refused.message, /position 16: regular expression: look-around/)
    assert.match((await ask('query', { q: 'restarts~1' })).json.message, /restarts is a number: "~" is for text/)
  })
})

test('I3: printer columns of custom resources are fields, both spellings of their paths; the broken one is none', async () => {
  const WIDGETS = { group: 'example.io', version: 'v1', resource: 'widgets' }
  const column = (name: string, type: string, jsonPath: string): object => ({ name, type, jsonPath })
  const columns = customColumns([
    column('Size', 'string', '.spec.size'),
    column('Weight', 'integer', '{.spec.weight}'),
    column('Phase', 'string', '.status.phase'),
    column('Ready', 'string', '.status.conditions[?(@.type=="Ready")].status'),
    column('Broken', 'string', '{.spec.a.b'),
  ])
  const widget = (name: string, size: string, weight: number) => ({
    metadata: { name, namespace: 'shop', uid: name },
    spec: { size, weight },
    status: { phase: 'Bound' },
  })
  const fleet = new TestFleet().register(WIDGETS, 'Widget', true).register(PODS, 'Pod', true)
  fleet.shard('member1', WIDGETS, 'Widget', true).list([widget('w1', '1Gi', 9), widget('w2', '512Mi', 10)], 1)
  fleet.shard('member1', PODS).list([pod('shop', 'p', { status: { phase: 'Bound' } })], 1)
  await withSearch(
    fleet,
    async ({ json }) => {
      const names = async (q: string): Promise<string[]> =>
        (await json('query', { q, sort: 'name', fields: 'name' })).items.map(({ fields }: Json) => fields.name)
      assert.deepEqual(await names('size>=600Mi'), ['w1'])
      assert.deepEqual(await names('weight>9'), ['w2'])
      assert.deepEqual(await names('phase:Bound'), ['p', 'w1', 'w2'])
      assert.deepEqual(await names('kind:Widget phase!=Bound'), [])
      const { items } = await json('query', { q: 'name=w1', fields: 'size,weight,phase' })
      assert.deepEqual(items[0].fields, { size: '1Gi', weight: 9, phase: 'Bound' })
      const { warnings } = await json('query', { q: 'broken:x' })
      assert.match(warnings[0], /"broken" is no field/)
      const { fields } = await json('fields', { kind: 'widget' })
      const size = fields.find(({ name }: Json) => name === 'size')
      assert.deepEqual([size.kinds, size.types, size.sort], [['Widget'], ['json'], true])
      const sorted = await json('query', { q: 'kind:Widget size:*', sort: '-size', fields: 'name' })
      assert.deepEqual(
        sorted.items.map(({ fields: { name } }: Json) => name),
        ['w1', 'w2'],
      )
      const sums = await json('aggregate', { q: 'kind:Widget', metrics: 'sum(size),max(weight)' })
      assert.deepEqual(sums.groups[0].metrics, { 'sum(size)': 1.5 * 1024 ** 3, 'max(weight)': 10 })
    },
    { columns: { columnsFor: (_gvr, kind) => Promise.resolve(kind === 'Widget' ? columns : defaultColumns) } },
  )
})

test('hostile input is an answer or a 4xx, never a 5xx', { timeout: 120_000 }, async () => {
  const piece = fc.constantFrom(
    '(',
    ')',
    '"',
    '-',
    ' ',
    'OR',
    'NOT ',
    'ns:',
    'name~',
    '(a+)+$',
    '[',
    '*',
    '\\',
    ',',
    '\0',
    '🚀',
    'ip:',
    '10.0.0.0/8',
    '<',
    'x',
  )
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join('')),
  )
  await withSearch(fleetOfTwo(), async ({ api }) => {
    const check = async (endpoint: string, parameters: Record<string, string>): Promise<void> => {
      const body = JSON.stringify(parameters)
      const { status } = await api.ask(`/${endpoint}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      assert.ok([200, 400, 404, 422].includes(status), `${status} ${endpoint} ${body}`)
    }
    await fc.assert(
      fc.asyncProperty(text, async (hostile) => {
        await check('query', { q: hostile, highlight: 'true', explain: 'true', facets: 'cluster' })
        await check('suggest', { q: hostile })
        await check('aggregate', { q: hostile, by: hostile })
        await check('lookup', { key: hostile, ip: hostile })
        await check('related', { cluster: 'member1', kind: 'Pod', name: hostile, namespace: 'shop' })
      }),
      { numRuns: 150 },
    )
    for (const long of [
      'x'.repeat(10_000),
      'ns:'.repeat(3_000),
      '"'.repeat(9_999),
      'name~'.padEnd(9_000, '(a*)*'),
      'web '.repeat(200),
    ]) {
      await check('query', { q: long, highlight: 'true' })
      await check('suggest', { q: long })
    }
  })
})
