/** `pods/log` of simulated pods: a few lines in the manner of a web service, the same each time for the same pod. */
import type { Clock } from '../../util/clock.ts'
import { sendText } from './answer.ts'
import type { SubresourceHandler } from './api-server.ts'
import type { ObjectStore } from './object-store.ts'
import { hash, SeededRandom } from './seeded-random.ts'
import type { Pod } from './objects/kinds.ts'

const PATHS = ['/', '/healthz', '/api/v1/items', '/api/v1/items/4711', '/api/v1/search?q=lamp', '/metrics'] as const
const LINES = 40

export function podLog(store: ObjectStore, clock: Clock): SubresourceHandler {
  return (route, url, response) => {
    if (route.resource !== 'pods' || route.subresource !== 'log') return false
    const type = store.typeOfKind('v1', 'Pod')
    const found = type === undefined ? undefined : store.get(type, route.namespace, route.name ?? '')
    if (found === undefined) return false
    const tail = Number(url.searchParams.get('tailLines') ?? LINES)
    const lines = linesOf(found.value as Pod, found.metadata.uid, clock.nowMs())
    sendText(
      response,
      200,
      'text/plain',
      lines
        .slice(-tail)
        .map((line) => `${line}\n`)
        .join(''),
    )
    return true
  }
}

function linesOf({ status }: Pick<Pod, 'status'>, uid: string, nowMs: number): string[] {
  const random = new SeededRandom(hash(uid), 'log')
  const failing =
    status.containerStatuses?.[0]?.lastState['terminated'] !== undefined && status.containerStatuses[0].ready === false
  const lines: string[] = []
  for (let back = LINES; back > 0; back--) {
    const time = new Date(nowMs - back * random.int(400, 9_000)).toISOString()
    const code = random.chance(0.94) ? 200 : random.pick([301, 404, 499, 503])
    const fields = {
      time,
      level: code < 500 ? 'info' : 'warn',
      method: 'GET',
      path: random.pick(PATHS),
      code,
      ms: random.int(1, 180),
    }
    lines.push(JSON.stringify(fields))
  }
  if (failing)
    lines.push(
      JSON.stringify({
        time: new Date(nowMs).toISOString(),
        level: 'fatal',
        msg: 'cannot load model: unexpected end of file',
      }),
    )
  return lines
}
