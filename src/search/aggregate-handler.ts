/**
 * `search/aggregate`: counts, sums, averages, extremes and percentiles by groups.
 *
 *     ?q=kind:Pod&by=cluster,label.app,created:day&metrics=sum(memory),p95(restarts)&sort=-sum(memory)&limit=100
 *
 * Answers an AggregateResult: `total` documents found, `distinct` groups, `groups` of `{keys, count, metrics}`.
 */
import { sendBody } from '../http/answer.ts'
import type { ApiHandler } from '../http/api-request.ts'
import { aggregate, type AggregateGroup, type AggregateResult } from '../query/aggregate.ts'
import { readAggregate, type NamedAggregate } from './aggregate-options.ts'
import { readQuery } from './read-query.ts'
import { CONTENT_TYPES, headRow, jsonRow, row, type RowCell } from './row-format.ts'
import { asked, createSearchEndpoint, isComplete, tailOf, visibleOf, type SearchCall } from './search-call.ts'
import type { SearchParts } from './search-parts.ts'

export function createAggregateHandler(parts: SearchParts): ApiHandler {
  return createSearchEndpoint(parts, answer)
}

async function answer(call: SearchCall): Promise<void> {
  const { parameters, fields, parts, exchange } = call
  const query = readQuery(parameters, fields, parts, parts.clock.nowMs())
  const named = readAggregate(parameters, fields)
  const base = { predicate: query.predicate, ...visibleOf(call) }
  const result = await asked(() => aggregate(parts.store, { ...base, ...named.request }))
  const [all] = (await asked(() => parts.store.count({ ...base, dimensions: [], maxRows: 1 }))).rows
  const total = all?.documents ?? 0
  const headers = { 'content-type': CONTENT_TYPES[call.format], ...call.headers }
  await sendBody(exchange, { headers }, async (body) => {
    const warnings = [...query.warnings, ...cutWarning(named, result)]
    if (call.format === 'json') body.writeText(jsonOf(call, named, result, total, warnings))
    else {
      const names = [...named.keys, 'count', ...named.metrics]
      body.writeText(headRow(call.format, names))
      for (const group of result.groups) {
        body.writeText(row(call.format, names, cellsOf(group)))
        await body.ready()
      }
    }
  })
}

function cellsOf({ keys, documents, metrics }: AggregateGroup): RowCell[] {
  return [...keys, documents, ...metrics]
}

function cutWarning({ request: { limit } }: NamedAggregate, { distinct }: AggregateResult): string[] {
  return distinct > limit ? [`${distinct} groups, of which the first ${limit} are shown`] : []
}

function jsonOf(
  call: SearchCall,
  named: NamedAggregate,
  { groups, distinct }: AggregateResult,
  total: number,
  warnings: readonly string[],
): string {
  const head = {
    apiVersion: 'search.karmada.io/v1alpha1',
    kind: 'AggregateResult',
    total,
    totalIsExact: isComplete(call),
  }
  const shown = groups.map(({ keys, documents, metrics }) => {
    const values = named.metrics.length === 0 ? '' : `,"metrics":${jsonRow(named.metrics, metrics)}`
    return `{"keys":${jsonRow(named.keys, keys)},"count":${documents}${values}}`
  })
  const tail = JSON.stringify({ distinct, ...tailOf(call, warnings) }).slice(1)
  return `${JSON.stringify(head).slice(0, -1)},"groups":[${shown.join(',')}],${tail}`
}
