/**
 * The whole program as its user sees it: `fleetsearch up` over members on loopback. Loads their pods, lists them all, gets
 * single ones, and tells time, processor time and resident memory of the process from outside.
 *
 *     node bench/fleet.ts [CLUSTERS] [PODS-PER-CLUSTER]     default 10 clusters of 1,000 pods
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const [clusters = 10, pods = 1_000] = process.argv.slice(2).map(Number)
const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-bench-'))
const port = 18_080
const base = `http://127.0.0.1:${port}/apis/search.karmada.io/v1alpha1`
const TICKS_PER_SECOND = 100

const members = spawn(process.execPath, ['bench/fleet-members.ts', String(clusters), String(pods)], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
const service = await start()
try {
  await measure()
} finally {
  service.kill('SIGTERM')
  await once(service, 'exit')
  members.stdin?.end()
  rmSync(folder, { recursive: true, force: true })
}

async function start(): Promise<ChildProcess> {
  const [line] = (await once(members.stdout!, 'data')) as [Buffer]
  const urls = JSON.parse(line.toString('utf8')) as string[]
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: urls.map((server, i) => ({ name: `m${i}`, cluster: { server } })),
    users: urls.map((_, i) => ({ name: `m${i}`, user: {} })),
    contexts: urls.map((_, i) => ({ name: `m${i}`, context: { cluster: `m${i}`, user: `m${i}` } })),
  }
  const file = path.join(folder, 'kubeconfig')
  writeFileSync(file, JSON.stringify(config))
  const flags = ['up', `--kubeconfig=${file}`, `--port=${port}`, `--data-dir=${folder}`, '--log-level=error']
  return spawn(process.execPath, ['bin/fleetsearch.js', ...flags], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Seconds of processor time and MB resident, of the process and its threads. */
function usage(): { cpu: number; mb: number } {
  const stat = readFileSync(`/proc/${service.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  const rss = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]
  return { cpu: (Number(stat[11]) + Number(stat[12])) / TICKS_PER_SECOND, mb: Number(rss) / 1024 }
}

async function measure(): Promise<void> {
  const startedMs = performance.now()
  const total = clusters * pods
  await until(async () => (await count()) === total)
  row(`all ${total} pods of ${clusters} clusters cached`, performance.now() - startedMs)
  await until(async () => (await indexed()) >= total)
  row('and searchable', performance.now() - startedMs)
  await timed('full list, identity', 5, async () => {
    const headers = { 'accept-encoding': 'identity' }
    return (await fetch(`${base}/search/cache/api/v1/pods`, { headers })).arrayBuffer()
  })
  await delay(1_000)
  row('after full lists', 0)
  const { items } = (await (await fetch(`${base}/search/cache/api/v1/pods?limit=200`)).json()) as {
    items: { metadata: { namespace: string; name: string } }[]
  }
  let next = 0
  await timed('one GET, search/cache', 400, () => {
    const { namespace, name } = items[next++ % items.length]!.metadata
    return fetch(`${base}/search/cache/api/v1/namespaces/${namespace}/pods/${name}`).then((answer) =>
      answer.arrayBuffer(),
    )
  })
  await timed('one GET, proxying', 400, () => {
    const { namespace, name } = items[next++ % items.length]!.metadata
    return fetch(`${base}/proxying/cluster.m0/proxy/api/v1/namespaces/${namespace}/pods/${name}`).then((answer) =>
      answer.arrayBuffer(),
    )
  })
}

async function timed(what: string, times: number, run: () => Promise<unknown>): Promise<void> {
  const took: number[] = []
  const before = usage().cpu
  for (let i = 0; i < times; i++) {
    const startedMs = performance.now()
    await run()
    took.push(performance.now() - startedMs)
  }
  took.sort((a, b) => a - b)
  const cpuMs = ((usage().cpu - before) / times) * 1_000
  const at = (share: number): string => took[Math.floor((took.length - 1) * share)]!.toFixed(2)
  process.stdout.write(`${what.padEnd(44)} p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ${cpuMs.toFixed(2)} ms CPU each\n`)
}

function row(what: string, ms: number): void {
  const { cpu, mb } = usage()
  const time = ms === 0 ? '' : `${(ms / 1_000).toFixed(2)} s, `
  process.stdout.write(`${what.padEnd(44)} ${time}${cpu.toFixed(2)} s CPU so far, ${mb.toFixed(0)} MB resident\n`)
}

async function count(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith('fleetsearch_cache_objects{') && line.includes('resource="v1/pods"'))
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

async function indexed(): Promise<number> {
  const answer = await fetch(`${base}/search/query?q=kind%3APod&limit=1&fields=name`)
  return answer.status === 200 ? ((await answer.json()) as { total: number }).total : 0
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition().catch(() => false))) await delay(20)
}
