/**
 * Members for bench/fleet.ts, a process of their own: `node bench/fleet-members.ts CLUSTERS PODS` prints one line of JSON,
 * the URLs of that many API servers with that many pods each, and serves until its standard input ends.
 */
import { randomUUID } from 'node:crypto'
import { ApiServer } from '../src/fleet/demo/api-server.ts'
import { BUILTIN_TYPES } from '../src/fleet/demo/builtin-types.ts'
import { ObjectStore } from '../src/fleet/demo/object-store.ts'
import { systemClock, systemRandom } from '../src/util/clock.ts'
import { benchPod, seededRandom } from './fleet-objects.ts'

const [clusters = 10, pods = 1_000] = process.argv.slice(2).map(Number)
const random = seededRandom(1)
const servers: ApiServer[] = []
const urls: string[] = []
for (let cluster = 0; cluster < clusters; cluster++) {
  const store = new ObjectStore({ clock: systemClock, newUid: randomUUID })
  store.register(...BUILTIN_TYPES)
  for (let i = 0; i < pods; i++) {
    const pod = JSON.parse(benchPod(random, `member${cluster}`, i).bytes.toString('utf8')) as Parameters<
      ObjectStore['put']
    >[0]
    store.put(pod)
  }
  const server = new ApiServer({ store, clock: systemClock, random: systemRandom })
  servers.push(server)
  urls.push(await server.listen())
}
process.stdout.write(`${JSON.stringify(urls)}\n`)
process.stdin.resume().once('end', () => {
  void Promise.all(servers.map((server) => server.close())).then(() => process.exit(0))
})
