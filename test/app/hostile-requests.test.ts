/**
 * The whole service under requests that nobody sane would send: whatever comes, it is an answer of ours with a stated code,
 * never a fault (500), and everybody else is served meanwhile and afterwards.
 */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { startFakeMember, type FakeMember } from '../support/fake-member.ts'
import { BASE, CACHE, PROXY, QUERY } from '../support/local-process.ts'
import { podManifest } from '../support/manifests.ts'
import { eventually, startWholeService, type WholeService } from '../support/whole-service.ts'

interface Answer {
  readonly status: number
  readonly headers: string
  readonly body: string
}

/** Of requests that are refused on the way, headers (64 KiB) or body. */
const REFUSED_EARLY_BYTES = 64 << 10
const REFUSED_BY_NODE: ReadonlySet<number> = new Set([400, 413, 417, 431])
const REFUSED_EARLY: Answer = { status: 413, headers: '', body: '' }

const LONG = 'a'.repeat(10_000)
/** How long the event loop may be held by one request, on a busy machine. */
const SLOW_MS = 3_000

describe('hostile requests', () => {
  let member: FakeMember
  let api: WholeService

  before(async () => {
    const objects = ['web-0', 'web-1'].map((name) => podManifest(name) as Parameters<FakeMember['put']>[0])
    member = await startFakeMember({ objects })
    api = await startWholeService()
    api.join('m1', member.url)
    await api.register('pods', 'v1/Pod', 'apps/v1/Deployment')
    await eventually(async () => (await listed()) === 2, 'the pods')
    await eventually(async () => ((await api.ok(`${QUERY}?q=web-0`)) as { total: number }).total === 1, 'the store')
  })

  after(async () => {
    await api?.stop()
    await member?.close()
  })

  async function listed(): Promise<number> {
    const answer = await api.request(`${CACHE}/api/v1/pods`)
    return answer.status === 200 ? (answer.json() as { items: unknown[] }).items.length : 0
  }

  /** Byte for byte on a socket of its own: no client in between that mends or refuses anything. */
  function send(target: string, { method = 'GET', headers = {}, body = '' }: RawOptions = {}): Promise<Answer> {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
    const head = Object.entries({ Host: '127.0.0.1', Connection: 'close', ...headers })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')
    const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`
    const text = `${method} ${target} HTTP/1.1\r\n${head}${length}\r\n${body}`
    socket.write(text)
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    return new Promise((resolve, reject) => {
      socket.setTimeout(20_000, () => socket.destroy(new Error(`no answer to ${target.slice(0, 200)}`)))
      // What is refused before it was sent in full may end in a reset that overtakes the answer.
      socket.on('error', (error) => {
        if (text.length < REFUSED_EARLY_BYTES) reject(error)
      })
      socket.once('close', () => {
        resolve(chunks.length === 0 ? REFUSED_EARLY : parse(Buffer.concat(chunks).toString('utf8')))
      })
    })
  }

  /** An answer, and one of ours: a Status that explains itself wherever it is an error. */
  async function survives(target: string, options?: RawOptions): Promise<Answer> {
    const startedMs = performance.now()
    const answer = await send(target, options)
    const what = `${options?.method ?? 'GET'} ${target.slice(0, 150)}: ${answer.status} ${answer.body.slice(0, 300)}`
    assert.ok(answer.status >= 200 && (answer.status < 500 || answer.status === 501), what)
    // What Node refuses by itself has no body, neither has an answer to HEAD.
    const bare = answer.body === '' && (options?.method === 'HEAD' || REFUSED_BY_NODE.has(answer.status))
    if (answer.status >= 400 && !bare) {
      const status = statusIn(answer, what)
      assert.equal(status['kind'], 'Status', what)
      assert.equal(status['code'], answer.status, what)
      assert.ok(String(status['message']).length > 0, what)
      assert.ok(!answer.body.includes('src/'), `no stack is shown: ${what}`)
    }
    assert.ok(performance.now() - startedMs < SLOW_MS, `slow: ${what}`)
    return answer
  }

  const ROOTS = ['', BASE, `${BASE}/search`, CACHE, `${BASE}/search/query`, `${BASE}/proxying`, PROXY]
  const STRANGE = [
    '/',
    '//',
    '///api//v1//pods',
    '/api/v1/pods/',
    '/api/v1/pods/%00',
    '/api/v1/namespaces/%00/pods',
    '/api/v1/namespaces/../pods',
    '/api/v1/namespaces/%2e%2e/pods',
    '/api/v1/namespaces/a%2fb/pods',
    '/api/v1/namespaces/%5c..%5c/pods',
    '/api/v1/pods/../../../../../../etc/passwd',
    '/..%2f..%2f..%2fetc/passwd',
    '/api/v1/%F0%9F%98%80',
    '/api/v1/😀',
    '/api/v1/pods/%E0%A4%A',
    '/api/v1/pods/%',
    '/api/v1/pods/%zz',
    '/api/v1/pods/%ff%fe',
    '/api/v1/pods;x=1',
    '/api/v1/pods%3Flimit=1',
    '/__proto__',
    '/api/v1/__proto__',
    '/api/__proto__/pods',
    '/apis/constructor/prototype/toString',
    '/apis/apps/v1/deployments/hasOwnProperty',
    '/api/v1/namespaces/default/pods/web-0/a/b/c/d/e/f',
    `/${LONG}`,
    `/api/v1/namespaces/${LONG}/pods/${LONG}`,
    `/api/v1/pods/${'a/'.repeat(5_000)}`,
    `/${'../'.repeat(5_000)}`,
    `/${'%2e%2e%2f'.repeat(1_000)}`,
  ]

  for (const root of ROOTS) {
    it(`paths below ${root || '/'}`, async () => {
      for (const path of STRANGE) await survives(root + path)
      assert.equal(await listed(), 2)
    })
  }

  it('never takes a path apart into another one', async () => {
    for (const path of ['/api/v1/namespaces/../pods', '/api/v1/namespaces/%2e%2e/pods', '/api/v1//pods']) {
      for (const root of [CACHE, PROXY]) assert.notEqual((await survives(root + path)).status, 200, root + path)
    }
    assert.ok(!member.requests.some(({ url }) => /\.\.|%2e|\/\//i.test(url)), 'nor hands it to a member')
  })

  const QUERIES = [
    '',
    '?',
    '&&&',
    '=',
    '%',
    '%zz',
    '%00=%00',
    '__proto__=1&constructor=2&toString=3',
    'limit=-1',
    'limit=1e9',
    'limit=0x10',
    `limit=${'9'.repeat(400)}`,
    'limit=5&limit=abc',
    'continue=x',
    'continue=%00',
    `continue=${LONG}`,
    `continue=${Buffer.from('{"rv":"x","cluster":"m1","continue":"y"}').toString('base64url')}`,
    `continue=${Buffer.from('[[[[').toString('base64url')}`,
    'resourceVersion=%F0%9F%98%80',
    `resourceVersion=${LONG}`,
    'resourceVersion=-5',
    `resourceVersion=${Buffer.from('{"m1":"__proto__","__proto__":"1"}').toString('base64url')}`,
    'resourceVersion=1&resourceVersionMatch=Nonsense',
    'resourceVersionMatch=Exact',
    'sendInitialEvents=true',
    'sendInitialEvents=perhaps',
    'watch=maybe&timeoutSeconds=1',
    'watch=true&timeoutSeconds=x',
    'watch=true&timeoutSeconds=1&resourceVersion=nonsense',
    'watch=true&timeoutSeconds=1&allowWatchBookmarks=%00',
    `labelSelector=${LONG}`,
    `labelSelector=${'a,'.repeat(5_000)}`,
    `labelSelector=a+in+(${'b,'.repeat(5_000)}b)`,
    `labelSelector=${'('.repeat(5_000)}`,
    'labelSelector=%00',
    'labelSelector=%E0%A4%A',
    'labelSelector=😀',
    `fieldSelector=${LONG}`,
    `fieldSelector=${'metadata.name=a,'.repeat(2_000)}`,
    'fieldSelector=metadata.name%3D%00',
    'fieldSelector=__proto__%3D1',
    'fieldSelector=spec.constructor%3D1',
    'cluster=%00',
    `cluster=${LONG}`,
    'cluster=__proto__',
    'sortBy=%00',
    'sortBy=__proto__',
    'sortBy=.metadata.__proto__.polluted',
    `sortBy=.${'a.'.repeat(5_000)}a`,
    `sortBy=${'['.repeat(5_000)}`,
    'includeObject=Everything',
    'pretty=true',
    `fields=${'name,'.repeat(2_000)}`,
    `x=${'y'.repeat(40_000)}`,
    `${'a=b&'.repeat(10_000)}`,
  ]

  for (const path of [
    `${CACHE}/api/v1/pods`,
    `${PROXY}/api/v1/pods`,
    `${PROXY}/api/v1/events`,
    QUERY,
    '/readyz',
    '/',
  ]) {
    it(`query strings of ${path}`, async () => {
      for (const query of QUERIES) await survives(`${path}?${query}`)
      assert.equal(await listed(), 2)
    })
  }

  const SEARCHES = [
    LONG,
    `${'a '.repeat(5_000)}`,
    '('.repeat(10_000),
    `${'('.repeat(4_000)}a${')'.repeat(4_000)}`,
    '-'.repeat(10_000),
    `${'-('.repeat(3_000)}a${')'.repeat(3_000)}`,
    'a OR '.repeat(2_000),
    `${'a OR '.repeat(2_000)}b`,
    'NOT '.repeat(2_000),
    '"'.repeat(9_999),
    '"unbalanced',
    '\\'.repeat(9_999),
    '*'.repeat(10_000),
    `name:${'*a'.repeat(4_000)}`,
    `name:${'?*'.repeat(4_000)}b`,
    'name~(a+)+$',
    `name~${'(a*)*'.repeat(200)}b`,
    `name~${'('.repeat(5_000)}`,
    'name~[',
    'name~(?<=a)b',
    `name~a{1,${'9'.repeat(300)}}`,
    `restarts>${'9'.repeat(5_000)}`,
    'restarts>0x10',
    'restarts>NaN',
    'restarts>-Infinity',
    'memory>=1e9999Gi',
    'created<99999999999999999999y',
    'created<-5d',
    `name:(${'a,'.repeat(4_000)}a)`,
    'spec.template.__proto__.x:1',
    '__proto__:1 constructor:toString',
    `${'a.'.repeat(4_000)}b:c`,
    'label.=x',
    'label.😀=😀',
    '😀👩‍👩‍👧‍👦 漢字 ÅÅ \u202e\u0000\ufffe',
    '\u0000',
    "'; DROP TABLE documents; --",
    'NEAR(a b) {name}: ^a a*',
    'foo[0] a AND "unbalanced -x ns/pod-1 2001:db8::1 registry:5000/img@sha256:ab',
  ]

  it('I1: searches', async () => {
    for (const q of SEARCHES) await survives(`${QUERY}?q=${encodeURIComponent(q)}`)
    for (const q of SEARCHES) await survives(`${QUERY}?q=web&sort=${encodeURIComponent(q)}`)
    for (const q of SEARCHES) await survives(`${QUERY}?q=web&facets=${encodeURIComponent(q)}&limit=1`)
    for (const q of SEARCHES) await survives(`${QUERY}?q=web&fields=${encodeURIComponent(q)}`)
    assert.equal(((await api.ok(`${QUERY}?q=web-0`)) as { total: number }).total, 1)
  })

  it('I1: any text at all is searched for or refused', async () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.constantFrom(
        '(',
        ')',
        '"',
        '-',
        ' ',
        ' OR ',
        ':',
        '=',
        '!=',
        '>',
        '<=',
        '~',
        '*',
        '?',
        ',',
        '\\',
        '/',
        '[',
        '{',
      ),
      fc.constantFrom('name', 'restarts', 'label.app', 'created', 'memory', 'spec.x', 'kind', 'web', '1Gi', '7d', '0'),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        const text = pieces.join('').toWellFormed()
        await survives(`${QUERY}?q=${encodeURIComponent(text)}&facets=cluster`)
      }),
      { numRuns: 300 },
    )
  })

  it('methods and headers', async () => {
    const targets = [
      '/',
      '/metrics',
      `${BASE}/resourceregistries/none`,
      `${CACHE}/api/v1/pods`,
      `${PROXY}/api/v1/pods`,
      QUERY,
    ]
    for (const target of targets) {
      for (const method of ['HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'BREW']) {
        await survives(target, { method })
      }
      for (const headers of HEADERS) await survives(target, { headers })
    }
  })

  it('bodies', async () => {
    const registries = `${BASE}/resourceregistries`
    const json = { 'Content-Type': 'application/json' }
    const yaml = { 'Content-Type': 'application/yaml' }
    const bodies: [string, Record<string, string>][] = [
      ['', json],
      ['null', json],
      ['[]', json],
      ['"text"', json],
      ['{', json],
      ['{"metadata":{"name":"\\ud800"}}', json],
      ['{"__proto__":{"x":1},"metadata":{"name":"p","__proto__":{"y":1}}}', json],
      [`${'['.repeat(200_000)}`, json],
      [`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, json],
      [`{"metadata":{"name":"${'x'.repeat(8 << 20)}"}}`, json],
      ['a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c]', yaml],
      [`${'- '.repeat(20_000)}a`, yaml],
      ['!!js/function "x"', yaml],
      ['\u0000\u0001\u0002', json],
      ['k8s\u0000\n', { 'Content-Type': 'application/vnd.kubernetes.protobuf' }],
      ['<xml/>', { 'Content-Type': 'text/xml' }],
      ['{}', { 'Content-Type': ';;;;' }],
      ['{}', { ...json, 'Content-Encoding': 'gzip' }],
    ]
    for (const [body, headers] of bodies) {
      for (const [method, target] of [
        ['POST', registries],
        ['PUT', `${registries}/pods`],
        ['PATCH', `${registries}/pods`],
        ['PUT', `${registries}/pods/status`],
        ['DELETE', `${registries}/none`],
      ] as const) {
        await survives(target, { method, headers, body })
      }
    }
    const { items } = (await api.ok(registries)) as { items: { metadata: { name: string } }[] }
    assert.ok(
      items.some(({ metadata }) => metadata.name === 'pods'),
      JSON.stringify(items),
    )
    assert.equal(await listed(), 2)
  })

  it('a body that never ends', async () => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(
      `POST ${BASE}/resourceregistries HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"me`,
    )
    assert.equal(await listed(), 2)
    await new Promise<void>((resolve) => socket.destroy().once('close', () => resolve()))
    assert.equal(await listed(), 2)
  })

  it('has logged no fault of its own, lost nothing and polluted nothing', async () => {
    const errors = api.log.filter(({ level }) => level >= 50)
    assert.deepEqual(
      errors.map(({ msg, err }) => `${msg}: ${(err as Error | undefined)?.message ?? ''}`),
      [],
    )
    assert.deepEqual(api.faults, [])
    assert.equal(Reflect.get({}, 'x'), undefined)
    assert.equal(Reflect.get({}, 'polluted'), undefined)
    assert.equal((await api.request('/readyz')).status, 200)
  })
})

interface RawOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

const HEADERS: readonly Record<string, string>[] = [
  { Accept: '' },
  { Accept: ';;;,,,' },
  { Accept: 'text/html' },
  { Accept: 'application/vnd.kubernetes.protobuf' },
  { Accept: 'application/json;as=Table;v=v99;g=meta.k8s.io' },
  { Accept: 'application/json;as=Nonsense;v=v1;g=meta.k8s.io' },
  { Accept: 'application/json;q=abc' },
  { Accept: `${'application/x,'.repeat(2_000)}` },
  { 'Accept-Encoding': 'gzip;q=abc, br;q=2, *;q=-1' },
  { 'Fleetsearch-Cluster': '__proto__' },
  { 'Fleetsearch-Cluster': '../m1' },
  { 'Fleetsearch-Cluster': 'x'.repeat(5_000) },
  { Range: 'bytes=0-0' },
  { 'If-None-Match': '*' },
  { 'Transfer-Encoding': 'nonsense' },
  { Expect: '100-nonsense' },
  { Upgrade: 'SPDY/3.1', Connection: 'Upgrade, close' },
  { Cookie: 'x'.repeat(20_000) },
  { 'X-Long': 'x'.repeat(100_000) },
  { 'X-Remote-User': 'admin', 'X-Remote-Group': 'system:masters', 'Impersonate-User': 'admin' },
]

function statusIn({ body, headers }: Answer, what: string): Record<string, unknown> {
  try {
    return JSON.parse(body) as Record<string, unknown>
  } catch {
    return assert.fail(`no Status: ${what}\n${headers}`)
  }
}

function parse(text: string): Answer {
  const end = text.indexOf('\r\n\r\n')
  const headers = text.slice(0, end)
  const body = text.slice(end + 4)
  const chunked = /^transfer-encoding: chunked$/im.test(headers)
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(headers)?.[1]),
    headers,
    body: chunked ? body.replace(/(^|\r\n)[0-9a-f]+\r\n/g, '').replace(/\r\n$/, '') : body,
  }
}
