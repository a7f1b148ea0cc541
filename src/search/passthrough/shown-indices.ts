/** Indices as a caller sees them: those of which he sees a document. */
import { badRequest } from '../../kube/status-error.ts'
import { catRows, catText, isCatColumn, type CatColumn, type ShownIndex } from './answers.ts'
import { run, type Call } from './call.ts'
import { isSet, notAllowed, WITHOUT_EFFECT } from './parameters.ts'
import type { Indices } from './target.ts'

/** Those of which the caller sees a document, with how many he sees. */
export async function catIndices(call: Call, indices: Indices): Promise<object | string> {
  const { query } = call.request
  for (const name of query.keys()) {
    if (!CAT_PARAMETERS.has(name) && !WITHOUT_EFFECT.has(name)) throw notAllowed(name)
  }
  const columns = catColumns(query.get('h'))
  const rows = catRows(await shownIndices(call, indices), columns)
  return query.get('format') === 'json' ? rows : catText(rows, columns, isSet(query, 'v'))
}

/** Those of which the caller sees a document, in the order of their names. */
export async function shownIndices(call: Call, indices: Indices): Promise<ShownIndex[]> {
  const kinds = { terms: { field: 'kind.keyword', size: MAX_KINDS } }
  const search = {
    query: { match_all: {} },
    size: 0,
    from: 0,
    sort: [],
    trackTotalHits: false,
    aggregations: { kinds },
  }
  const { aggregations } = await run(call, indices, search)
  const { buckets = [] } = (aggregations?.['kinds'] ?? {}) as { buckets?: { key: string; doc_count: number }[] }
  const counts = new Map<string, number>()
  for (const { key, doc_count } of buckets) {
    const index = `kubernetes-${key.toLowerCase()}`
    counts.set(index, (counts.get(index) ?? 0) + doc_count)
  }
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([index, documents]) => ({ index, documents }))
}

const CAT_PARAMETERS: ReadonlySet<string> = new Set(['format', 'v', 'h'])
/** More kinds than any fleet has. */
const MAX_KINDS = 10_000

function catColumns(text: string | null): CatColumn[] | undefined {
  const names = text?.split(',') ?? []
  const [unknown] = names.filter((name) => !isCatColumn(name))
  if (unknown !== undefined)
    throw badRequest(`the parameter h: there is no column ${JSON.stringify(unknown.slice(0, 80))}`)
  return names.length === 0 ? undefined : names.filter(isCatColumn)
}
