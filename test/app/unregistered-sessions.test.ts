/** Sessions and `proxy` subresources of kinds that nobody registered: the member that has the object, or the control plane. */
import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, describe, it } from 'node:test'
import { noCredentials } from '../../src/fleet/credentials.ts'
import { createMemberClient } from '../../src/fleet/member-client.ts'
import { createKarmadaPlugin } from '../../src/proxy/plugins/karmada.ts'
import { systemClock, systemRandom } from '../../src/util/clock.ts'
import type { SessionMember } from '../support/session-member.ts'
import { askUpgrade, readToEnd, type UpgradeWish } from '../support/upgrade-client.ts'
import { eventually, type WholeService, type WholeServiceOptions } from '../support/whole-service.ts'
import { SessionWorld } from './session-world.ts'

const BASE = '/apis/search.karmada.io/v1alpha1/proxying'
const P = `${BASE}/karmada/proxy`
const pod = (name: string): string => `/api/v1/namespaces/default/pods/${name}`
const EXEC = '/exec?command=sh&stdout=true'

/** What answers behind `proxy`: who it is, and what it was asked. */
function application(name: string) {
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.url?.includes('/proxy') !== true) return false
    response.writeHead(207, { 'x-app': name })
    response.write(`${request.method} ${request.url} `)
    request.pipe(response)
    return true
  }
}

describe('sessions without a registry', () => {
  const world = new SessionWorld()
  const { members } = world
  afterEach(() => world.end())

  const memberOf = (name: string, pods: readonly string[]): Promise<SessionMember> =>
    world.member(name, pods, { request: application(name) })

  /** Two members; `both` is a pod of both. Each has a node and a service of its own. */
  async function start(options: WholeServiceOptions = {}): Promise<WholeService> {
    const running = await world.service(options)
    for (const name of ['m1', 'm2']) {
      const member = await memberOf(name, [`own-${name}`, 'both'])
      member.api.put({ apiVersion: 'v1', kind: 'Node', metadata: { name: `node-${name}` } })
      member.api.put({ apiVersion: 'v1', kind: 'Service', metadata: { name: `web-${name}`, namespace: 'default' } })
      running.join(name, member.url)
    }
    const heard = async (name: string): Promise<boolean> =>
      (await running.request(`${BASE}/cluster.${name}/proxy/api/v1`)).status === 200
    await eventually(async () => (await heard('m1')) && (await heard('m2')), 'the discovery of both')
    await running.register('nothing-of-theirs', 'apps/v1/Deployment')
    return running
  }

  const ask = (running: WholeService, path: string, wish: Partial<UpgradeWish> = {}) =>
    askUpgrade({ url: running.url + path, ...wish })

  /** The session says back what it was told; its connection is over then. */
  async function echoes(answer: Awaited<ReturnType<typeof askUpgrade>>): Promise<void> {
    assert.equal(answer.status, 101, answer.body)
    const heard = readToEnd(answer.socket!)
    answer.socket!.end('stdin')
    assert.equal(await heard, 'stdin')
  }

  const reached = (): number[] => members.map(({ upgrades }) => upgrades.length)

  it('D6: exec, attach and port-forward go to the one member that has the pod', async () => {
    const running = await start()
    for (const subresource of [EXEC, '/attach?stdin=true', '/portforward']) {
      for (const protocol of ['SPDY/3.1', 'websocket']) {
        await echoes(await ask(running, P + pod('own-m2') + subresource, { protocol }))
      }
    }
    assert.deepEqual(reached(), [0, 6])
    assert.equal(members[1]!.upgrades[0]!.url, pod('own-m2') + EXEC)
    assert.equal(members[1]!.upgrades[0]!.headers['impersonate-user'], 'tester')
  })

  it('D1: in none 404, in two 409 and neither is reached, until one is chosen', async () => {
    const running = await start()
    assert.equal((await ask(running, P + pod('nowhere') + EXEC)).status, 404)
    const both = await ask(running, P + pod('both') + EXEC)
    assert.equal(both.status, 409)
    assert.match(both.body, /m1, m2/)
    assert.deepEqual(reached(), [0, 0])
    await echoes(await ask(running, `${BASE}/cluster.m1/proxy${pod('both')}${EXEC}`))
    assert.deepEqual(reached(), [1, 0])
  })

  it('nodes, services and pods behind `proxy`: any method, byte for byte, upgrades too', async () => {
    const running = await start()
    for (const [path, cluster] of [
      ['/api/v1/nodes/node-m1/proxy/stats/summary?only=1', 'm1'],
      ['/api/v1/namespaces/default/services/web-m2/proxy/a%2Fb//c?x=1&x=2', 'm2'],
      [`${pod('own-m1')}/proxy/`, 'm1'],
    ] as const) {
      for (const method of ['GET', 'POST']) {
        const answer = await running.request(P + path, { method, ...(method === 'POST' ? { body: 'bytes' } : {}) })
        assert.deepEqual([answer.status, answer.headers['x-app']], [207, cluster], answer.text)
        assert.equal(answer.text, `${method} ${path} ${method === 'POST' ? 'bytes' : ''}`)
      }
    }
    await echoes(await ask(running, `${P}${pod('own-m1')}/proxy/socket`, { protocol: 'websocket' }))
    assert.deepEqual(reached(), [1, 0])
  })

  it('a service’s scheme and port are no part of its name', async () => {
    const running = await start()
    for (const name of ['web-m2:80', 'https:web-m2:tls', ':web-m2:']) {
      const path = `/api/v1/namespaces/default/services/${name}/proxy/x`
      const answer = await running.request(P + path)
      assert.deepEqual([answer.status, answer.text], [207, `GET ${path} `])
    }
    for (const name of ['none:80', 'web-m2:a:b:c', 'ftp:web-m2:80', 'https:web-m2', ':', '::']) {
      const { status } = await running.request(`${P}/api/v1/namespaces/default/services/${name}/proxy/x`)
      assert.equal(status, 404, name)
    }
  })

  it('with a control plane they are its own, as the caller; of a chosen member that member’s', async () => {
    const host = await memberOf('host', ['own-host'])
    const client = createMemberClient({ server: host.url, credentials: noCredentials, qps: 0, clock: systemClock })
    const running = await start({
      lastPlugin: (parts) => createKarmadaPlugin({ ...parts, host: client, clock: systemClock, random: systemRandom }),
    })
    try {
      for (const protocol of ['SPDY/3.1', 'websocket']) {
        await echoes(await ask(running, P + pod('own-host') + EXEC, { protocol }))
      }
      assert.deepEqual(reached(), [2, 0, 0])
      const [request] = host.upgrades
      assert.deepEqual([request!.url, request!.headers['impersonate-user']], [pod('own-host') + EXEC, 'tester'])
      const answer = await running.request(`${P}${pod('own-host')}/proxy/`, { method: 'POST', body: 'x' })
      assert.deepEqual([answer.status, answer.headers['x-app']], [207, 'host'])
      await echoes(await ask(running, `${BASE}/cluster.m2/proxy${pod('own-m2')}${EXEC}`))
      assert.deepEqual(reached(), [2, 0, 1])
    } finally {
      await client.close()
    }
  })
})
