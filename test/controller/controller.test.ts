/** The controller over scripted reflectors: faults of ours, stopping, what is restarted and what is not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunReflector } from '../../src/controller/ports.ts'
import type { ReflectorStore } from '../../src/informer/reflector-store.ts'
import type { ResourceVersion } from '../../src/kube/names.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { settle } from '../support/fake-clock.ts'
import { pods, registry } from './fixture.ts'
import { World, pod } from './world.ts'

interface Run {
  readonly target: string
  readonly store: ReflectorStore
  readonly signal: AbortSignal
  end(): void
  break(): void
}

/** Reflectors that do what the test says; they end when told, or with their signal where `obedient`. */
function scripted(obedient = true): { readonly runs: Run[]; readonly run: RunReflector } {
  const runs: Run[] = []
  const run: RunReflector = ({ facts }, { gvr, namespace }, store, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    const end = (): void => {
      resolve(undefined)
    }
    if (obedient) signal.addEventListener('abort', end)
    runs.push({
      target: `${facts.name}/${gvr.resource}${namespace === undefined ? '' : `/${namespace}`}`,
      store,
      signal,
      end,
      break: () => {
        reject(new TypeError('a bug'))
      },
    })
    return promise
  }
  return { runs, run }
}

function list(store: ReflectorStore, version: string, ...names: string[]): void {
  const replacement = store.beginReplace()
  for (const name of names) {
    const metadata = { ...pod(name).metadata, uid: name, resourceVersion: version }
    replacement.add(Buffer.from(JSON.stringify({ metadata })))
  }
  replacement.commit(version as ResourceVersion)
}

const live = (runs: readonly Run[]): string[] =>
  runs.filter(({ signal }) => !signal.aborted).map(({ target }) => target)

test('a reflector that breaks starts again after a minute, and is told meanwhile', async () => {
  const { runs, run } = scripted()
  await using world = new World(run)
  world.registries.set(registry('rr', [pods()]))
  world.join('m', await world.member())
  await world.until(() => runs.length === 1)
  list(runs[0]?.store ?? assert.fail(), '5', 'a')
  runs[0]?.break()
  await settle()
  const { reflector } = world.shard('m', 'pods') ?? assert.fail()
  assert.ok(reflector.phase === 'failing' && reflector.code === 'internal')
  assert.deepEqual(world.objects('pods'), ['m/default/a'], 'what is shown stays')
  await world.clock.advance(59_000)
  assert.equal(runs.length, 1)
  await world.clock.advance(1_500)
  assert.equal(runs.length, 2)
})

test('a reflector that does not stop cannot write any more, and is not waited for longer than 5 s', async () => {
  const { runs, run } = scripted(false)
  await using world = new World(run)
  world.registries.set(registry('rr', [pods()]))
  world.join('m', await world.member())
  await world.until(() => runs.length === 1)
  const [first] = runs
  list(first?.store ?? assert.fail(), '5', 'a')
  const late = first?.store.beginReplace()
  let stopped = false
  const stop = world.stop().then(() => {
    stopped = true
  })
  await world.clock.advance(4_900)
  assert.equal(stopped, false)
  late?.commit('9' as ResourceVersion)
  list(first?.store ?? assert.fail(), '9')
  await world.clock.advance(200)
  await stop
  assert.deepEqual(world.objects('pods'), ['m/default/a'])
  first?.end()
})

test('one registry that changes leaves the reflectors of others alone', async () => {
  const { runs, run } = scripted()
  await using world = new World(run)
  const deployments = { apiVersion: 'apps/v1', kind: 'Deployment' }
  world.registries.set(registry('a', [pods()]))
  world.join('m', await world.member())
  await world.until(() => runs.length === 1)
  world.registries.set(registry('a', [pods()]), registry('b', [deployments, pods('x')]))
  await settle()
  world.registries.set(registry('a', [pods()]), registry('b', [{ ...deployments, namespace: 'y' }]))
  await settle()
  world.registries.set(registry('a', [pods()]))
  await settle()
  assert.deepEqual(
    runs.map(({ target, signal }) => `${target} ${signal.aborted}`),
    ['m/pods false', 'm/deployments true', 'm/deployments/y true'],
  )
})

test('a storm of changes in one turn is one plan', async () => {
  const { runs, run } = scripted()
  await using world = new World(run)
  const member = await world.member()
  world.registries.set(registry('rr', [pods()]))
  world.join('m', member)
  await world.until(() => runs.length === 1)
  for (let i = 0; i < 50; i++) {
    world.registries.set(registry('rr', [pods(`ns${i}`)]))
    world.leave('m')
    world.join('m', member)
  }
  world.registries.set(registry('rr', [pods()]))
  await settle()
  assert.equal(runs.length, 2, 'reached anew, so listed anew, once')
  assert.deepEqual(live(runs), ['m/pods'])
})

test('nothing is planned before the registries have been read', async () => {
  const { runs, run } = scripted()
  await using world = new World(run)
  world.registries.synced = false
  world.join('m', await world.member())
  await world.until(() => world.discovery.resources(world.fleet.members()[0]?.facts ?? assert.fail()) !== undefined)
  assert.equal(world.controller.progress().settled, false)
  world.registries.synced = true
  world.registries.set(registry('rr', [pods()]))
  await world.until(() => runs.length === 1)
  assert.equal(world.controller.progress().settled, false)
  list(runs[0]?.store ?? assert.fail(), '5')
  await world.until(() => world.controller.progress().settled)
})

test('that a registry matches no cluster is told once, and not before there is any cluster', async () => {
  const lines: string[] = []
  const { runs, run } = scripted()
  await using world = new World(run, createLogger('warn', { write: (line: string) => lines.push(line) }))
  world.registries.set(registry('everywhere', [pods()]), registry('rr', [pods()], { clusterNames: ['ghost'] }))
  await settle()
  assert.deepEqual(lines, [])
  for (const name of ['m', 'n']) {
    world.join(name, await world.member())
    await world.until(() => runs.some(({ target }) => target.startsWith(`${name}/`)))
  }
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /"registry":"rr","reason":"NoClusterMatches"/)
})
