/**
 * How much a running pod asks for: the sum over its containers and sidecars (init containers that restart always), or
 * what the pod as a whole is given. Ordinary init containers are done by then and do not count.
 */
import { textMemo } from '../../util/text-memo.ts'
import { formatQuantity, parseQuantity, quantityIn } from '../quantity.ts'
import type { JsonObject } from './column.ts'
import { perObject } from './define.ts'
import { items, optionalText } from './read.ts'

/** Summed in billionths: no quantity of Kubernetes is finer. */
const NANO = -9

/** A quantity; undefined where no container asks for any. */
export function podRequest(pod: JsonObject, resource: 'cpu' | 'memory'): string | undefined {
  const whole = optionalText(pod, 'spec', 'resources', 'requests', resource)
  if (whole !== undefined) return whole
  return sum(amounts(pod, 'requests', resource).filter((amount) => amount !== undefined))
}

/** A quantity; undefined where at least one container has no limit. */
export function podLimit(pod: JsonObject, resource: 'cpu' | 'memory'): string | undefined {
  const whole = optionalText(pod, 'spec', 'resources', 'limits', resource)
  if (whole !== undefined) return whole
  const limits = amounts(pod, 'limits', resource)
  const set = limits.filter((amount) => amount !== undefined)
  return set.length === limits.length ? sum(set) : undefined
}

function amounts(pod: JsonObject, kind: 'requests' | 'limits', resource: string): (string | undefined)[] {
  return running(pod).map((container) => optionalText(container, 'resources', kind, resource))
}

const running = perObject((pod) => {
  const sidecars = items(pod, 'spec', 'initContainers').filter((container) => container['restartPolicy'] === 'Always')
  return [...items(pod, 'spec', 'containers'), ...sidecars]
})

/** In the format of the first; amounts that cannot be read count as nothing. */
function sum(texts: readonly string[]): string | undefined {
  return texts.length === 0 ? undefined : sumOf(texts.join(' '))
}

/** Of amounts with spaces between, which no quantity has. Most pods ask for what their neighbours do. */
const sumOf = textMemo((amounts) => {
  const quantities = amounts
    .split(' ')
    .map(parseQuantity)
    .filter((quantity) => quantity !== undefined)
  const [first] = quantities
  if (first === undefined) return undefined
  const nano = quantities.reduce((total, quantity) => total + (quantityIn(quantity, NANO) ?? 0n), 0n)
  const total = parseQuantity(`${nano.toString()}n`)
  return total === undefined ? undefined : formatQuantity({ ...total, format: first.format })
})
