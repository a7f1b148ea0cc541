/**
 * kubectl, of this minor version and of an older one, through the aggregated proxy and directly at a member: the outputs are
 * the same but for the cluster annotations, versions and addresses.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  BASE,
  PROXY,
  startKarmadaFleet,
  startServe,
  until,
  type KarmadaFleet,
  type ServeProcess,
} from '../support/karmada-fleet.ts'
import { argumentsOf, READS, type KubectlCommand } from '../support/kubectl-commands.ts'
import { normalised, withoutChance } from '../support/kubectl-output.ts'
import { WRITES } from '../support/kubectl-writes.ts'
import { listableResources } from '../support/real-parts/discover.ts'
import { kubeconfig, tryKubectl, type KubectlResult, type RealCluster } from '../support/real-parts/index.ts'
import { createTableObjects } from '../support/table-objects.ts'

const FILES = ['cluster', 'workloads', 'network', 'pods', 'custom']

/** All that the commands that write can have changed, besides a node. */
const WRITTEN = [
  ...['configmaps', 'secrets', 'serviceaccounts', 'services', 'pods'].map((plural) => `/api/v1/#/${plural}`),
  ...['roles', 'rolebindings'].map((plural) => `/apis/rbac.authorization.k8s.io/v1/#/${plural}`),
  ...['jobs', 'cronjobs'].map((plural) => `/apis/batch/v1/#/${plural}`),
  '/apis/apps/v1/#/deployments',
  '/apis/autoscaling/v2/#/horizontalpodautoscalers',
].map((at) => at.replace('#', 'namespaces/writes'))
const NODE = '/api/v1/nodes?fieldSelector=metadata.name%3Dwrites-1'

/** Of a unified diff: not the names of its files, nor what stands around a change. */
function changedLines(diff: string): string {
  return diff
    .split('\n')
    .filter((line) => /^[+-](?![+-]{2})/.test(line))
    .join('\n')
}

/** What a command printed, and what there is after it, in lines. */
interface Written {
  readonly printed: object
  readonly node: readonly string[]
  readonly left: readonly string[]
}

describe('kubectl through us and at a member', () => {
  let fleet: KarmadaFleet
  let serve: ServeProcess
  let all: string
  let one: string

  before(async () => {
    fleet = await startKarmadaFleet(['member1', 'member2'])
    const [member] = fleet.members
    await createTableObjects(member!, FILES)
    // Nobody serves it: an older kubectl would fail at the member over a group that we do not have.
    await member!.ok(`/apis/apiregistration.k8s.io/v1/apiservices/v1.metrics.example.com`, { method: 'DELETE' })
    serve = await startServe(fleet.host)
    all = await kubeconfigFor('fleet', PROXY)
    one = await kubeconfigFor('chosen', `${BASE}/proxying/cluster.member1/proxy`)
    await registerEverything()
  })

  after(async () => {
    await serve?.stop()
    await fleet?.stop()
  })

  async function kubeconfigFor(name: string, prefix: string): Promise<string> {
    const { host } = fleet
    const file = path.join(host.folder, `${name}.kubeconfig`)
    const { certPem, keyPem } = host.pki.admin
    await writeFile(file, kubeconfig({ name, url: host.url + prefix, caPem: host.caPem, certPem, keyPem }))
    return file
  }

  /** Every kind that the member can list and watch, in the version that it prefers. */
  async function registerEverything(): Promise<void> {
    const resources = await listableResources(fleet.members[0]!)
    const firsts = new Map(resources.toReversed().map((each) => [`${groupOf(each.apiVersion)}/${each.kind}`, each]))
    const resourceSelectors = [...firsts.values()].map(({ apiVersion, kind }) => ({ apiVersion, kind }))
    await fleet.register('everything', { targetCluster: {}, resourceSelectors })
    const ask = async (resource: string): Promise<string> => {
      const { stdout } = await tryKubectl(['get', resource, '-o', 'name'], { kubeconfig: all })
      return stdout
    }
    const listed = async (): Promise<boolean> =>
      (await ask('pods')).includes('b-sidecar') && (await ask('widgets')).includes('full')
    await until(listed, 'the cache')
  }

  for (const part of ['kubectl', 'kubectl-1.29'] as const) {
    it(`E9: ${READS.length} commands of ${part} that read print the same`, { timeout: 600_000 }, async () => {
      const differing = await compareAll(part, READS)
      assert.deepEqual(differing, [])
    })
  }

  for (const part of ['kubectl', 'kubectl-1.29'] as const) {
    it(`${part} as it is asks for an order, a CLUSTER column, and selects by cluster and by any field`, async () => {
      const server = `${BASE}/proxying/karmada;sortBy=-name;clusterColumn=true/proxy`
      const view = await kubeconfigFor('view', server)
      const run = async (...args: string[]): Promise<string[]> => {
        const { code, stdout, stderr } = await tryKubectl(args, { kubeconfig: view, part })
        assert.equal(code, 0, stderr)
        return stdout.trim().split('\n')
      }
      const [header = '', ...rows] = await run('get', 'pods', '-A', '--chunk-size=4')
      assert.match(header, /^NAMESPACE +NAME +CLUSTER +READY +STATUS/)
      const names = rows.map((row) => row.split(/ +/)[1] ?? '')
      assert.deepEqual(names, names.toSorted().reverse())
      assert.ok(rows.every((row) => row.split(/ +/)[2] === 'member1'))
      const services = await run('get', 'services', '--field-selector=cluster=member2', '-o', 'name')
      assert.deepEqual(services, ['service/kubernetes'])
      const images = await run('get', 'pods', '--field-selector=spec.containers.image=app:1', '-o', 'name')
      assert.ok(images.includes('pod/b-sidecar') && !images.includes('pod/a-init-crash-loop'), images.join())
      const unknown = await tryKubectl(['get', 'pods', '--field-selector=spec.foo=1'], { kubeconfig: view, part })
      assert.match(unknown.stderr, /field label not supported: spec.foo/)
    })
  }

  it('searches custom resources by their printer columns, as numbers, times and truth', async () => {
    const { host } = fleet
    const names = async (q: string, sort = 'name'): Promise<string[]> => {
      const query = new URLSearchParams({ q: `kind:Widget ${q}`, sort })
      const answer = await host.request(`${BASE}/search/query?${query.toString()}`)
      assert.equal(answer.status, 200, answer.text)
      const { items } = answer.json() as { items: { object: { metadata: { name: string } } }[] }
      return items.map(({ object }) => object.metadata.name)
    }
    await until(async () => (await names('')).length === 5, 'the index')
    // A text that looks like a number is one: sizes are 3, '3', 2.9, null and none.
    for (const [q, expected] of [
      ['size>2.5', ['full', 'numbers', 'odd']],
      ['size=3', ['full', 'odd']],
      ['size<3', ['numbers']],
      ['seen<2d', ['full']],
      ['active=true', ['full']],
      ['ratio>0.5', ['full', 'nulls', 'odd']],
      ['ratio>=1e6', ['odd']],
      ['big>9007199254740992', ['full', 'numbers']],
      ['phase=Running', ['full']],
    ] as const) {
      assert.deepEqual(await names(q), expected, q)
    }
    assert.deepEqual((await names('', '-size,name')).slice(0, 3), ['full', 'odd', 'numbers'])
    assert.deepEqual((await names('', 'ratio')).slice(0, 4), ['numbers', 'full', 'nulls', 'odd'])
  })

  for (const part of ['kubectl', 'kubectl-1.29'] as const) {
    it(
      `${WRITES.length} commands of ${part} that write print the same and leave the same`,
      { timeout: 600_000 },
      async () => {
        const [member] = fleet.members
        await tryKubectl(['create', 'namespace', 'writes'], { kubeconfig: member!.kubeconfigPath })
        const theirs = await writeAll(part, () => member!.kubeconfigPath)
        assert.ok(
          theirs.some(({ node, left }) => node.length > 1 && left.length > 1),
          'nothing was looked at',
        )
        const ours = await writeAll(part, (command) => (command.one === true ? one : all))
        const differing = WRITES.flatMap(({ text }, i) => {
          try {
            assert.deepEqual(ours[i], theirs[i])
            return []
          } catch (error) {
            return [{ command: text, difference: (error as Error).message.split('\n').slice(0, 60) }]
          }
        })
        assert.deepEqual(differing, [])
      },
    )
  }

  /** One after the other; of each what it printed, and all that there is in the member afterwards. */
  async function writeAll(
    part: 'kubectl' | 'kubectl-1.29',
    configOf: (command: KubectlCommand) => string,
  ): Promise<Written[]> {
    const [member] = fleet.members
    const editor = path.join(fleet.host.folder, 'editor.sh')
    await writeFile(
      editor,
      '#!/bin/sh\nsed -i -e \'s/^  b: .*/  b: "edited"/\' -e \'s/replicas: .*/replicas: 3/\' "$1"\n',
      {
        mode: 0o755,
      },
    )
    const results: Written[] = []
    for (const command of WRITES) {
      const { input } = command
      const options = { kubeconfig: configOf(command), part, env: { KUBE_EDITOR: editor } }
      const printed = await tryKubectl(argumentsOf(command), { ...options, ...(input === undefined ? {} : { input }) })
      const [node, left, ...elsewhere] = await Promise.all([
        leftIn(member!, [NODE]),
        leftIn(member!, WRITTEN),
        leftIn(fleet.members[1]!, WRITTEN),
        leftIn(fleet.host, WRITTEN),
      ])
      assert.deepEqual(elsewhere, ['', ''], `${command.text} wrote into another cluster`)
      const stdout = command.text.startsWith('diff') ? changedLines(printed.stdout) : printed.stdout
      results.push({ printed: comparable({ ...printed, stdout }), node: node.split('\n'), left: left.split('\n') })
    }
    return results
  }

  /** Everything that stands there, with the owners of its fields; '' where nothing does. */
  async function leftIn(cluster: RealCluster, lists: readonly string[]): Promise<string> {
    const found = (await Promise.all(lists.map((at) => cluster.ok(at)))) as { items: readonly object[] }[]
    const items = found.flatMap((list) => list.items)
    return items.length === 0 ? '' : withoutChance(JSON.stringify(items))
  }

  /** Four at a time; what differs, with both outputs. */
  async function compareAll(part: 'kubectl' | 'kubectl-1.29', commands: readonly KubectlCommand[]): Promise<unknown[]> {
    const differing: unknown[] = []
    let next = 0
    const worker = async (): Promise<void> => {
      for (let command = commands[next++]; command !== undefined; command = commands[next++]) {
        const difference = await compare(part, command)
        if (difference !== undefined) differing.push(difference)
      }
    }
    await Promise.all(Array.from({ length: 4 }, worker))
    return differing
  }

  async function compare(part: 'kubectl' | 'kubectl-1.29', command: KubectlCommand): Promise<object | undefined> {
    const [member] = fleet.members
    const run = async (config: string): Promise<object> => {
      const { input } = command
      const options = { kubeconfig: config, part, ...(input === undefined ? {} : { input }) }
      const { stdout, ...rest } = await tryKubectl(argumentsOf(command), options)
      const shown = command.unordered === true ? stdout.split('\n').sort().join('\n') : stdout
      return comparable({ ...rest, stdout: shown })
    }
    const [theirs, ours] = await Promise.all([run(member!.kubeconfigPath), run(command.one === true ? one : all)])
    try {
      assert.deepEqual(ours, theirs)
      return undefined
    } catch (error) {
      return { command: command.text, difference: (error as Error).message.split('\n').slice(0, 60) }
    }
  }

  function comparable({ code, stdout, stderr }: KubectlResult): object {
    const { host, members } = fleet
    const chosen = `${BASE}/proxying/cluster.member1/proxy`
    const addresses = [host.url + PROXY, host.url + chosen, members[0]!.url, PROXY, chosen]
    return {
      code,
      stdout: normalised(stdout, addresses).split('\n'),
      stderr: normalised(stderr, addresses).split('\n'),
    }
  }
})

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : ''
}
