/** Answers as an engine gives them, without what is not the caller's: names of indices, shards and nodes. */
import type { NativeAnswer, NativeHit } from '../../query/native-search.ts'
import { FIELDS, shownMapping } from './fields.ts'
import type { NativeBody } from './read-search.ts'
import type { Indices } from './target.ts'

/** How many there are is nobody's to know who may not see what is in them. */
const SHARDS = { total: 1, successful: 1, skipped: 0, failed: 0 }

export function searchAnswer(
  { took, timed_out, total, hits, aggregations }: NativeAnswer,
  { sort, searchAfter }: NativeBody,
): object {
  const showsSort = sort.length > 0 || searchAfter !== undefined
  return {
    took,
    timed_out,
    _shards: SHARDS,
    hits: {
      ...(total === undefined ? {} : { total }),
      max_score: null,
      hits: hits.map((hit) => shownHit(hit, showsSort)),
    },
    ...(aggregations === undefined ? {} : { aggregations }),
  }
}

function shownHit({ _index, _id, _source, sort }: NativeHit, showsSort: boolean): object {
  return { _index, _id, _score: null, ...(_source === undefined ? {} : { _source }), ...(showsSort ? { sort } : {}) }
}

export function countAnswer({ total }: NativeAnswer): object {
  return { count: total?.value ?? 0, _shards: SHARDS }
}

export function documentAnswer(id: string, { names }: Indices, hit: NativeHit | undefined): object {
  if (hit === undefined) return { _index: names[0], _id: id, found: false }
  return { _index: hit._index, _id: hit._id, found: true, _source: hit._source }
}

export function mappingAnswer({ names }: Indices, flatType: string): object {
  return Object.fromEntries(names.map((name) => [name, { mappings: shownMapping(flatType) }]))
}

export function fieldCapsAnswer({ names }: Indices, flatType: string): object {
  const fields = [...FIELDS].map(([name, type]) => {
    const shown = type === 'labels' ? flatType : type
    return [name, { [shown]: { type: shown, searchable: true, aggregatable: type !== 'text', metadata_field: false } }]
  })
  return { indices: names, fields: Object.fromEntries(fields) as object }
}
