/** One request in an engine's language: what is asked, by whom, and what of everything that caller may see. */
import type { ApiRequest } from '../../http/api-request.ts'
import type { NativeAnswer, NativeSearch } from '../../query/native-search.ts'
import type { VisibleDocuments } from '../../query/search-request.ts'
import { asked } from '../search-call.ts'
import type { AsyncSearches } from './async-searches.ts'
import type { NativeBody } from './read-search.ts'
import type { Indices, Target } from './target.ts'

export type Engine = 'opensearch' | 'elasticsearch'

export interface Call {
  readonly request: ApiRequest
  readonly target: Target
  readonly native: NativeSearch
  readonly visible: VisibleDocuments | undefined
  readonly engine: Engine
  readonly searches: AsyncSearches
}

export interface Answer {
  readonly status?: number
  /** A text is sent as it is. */
  readonly body: object | string
  readonly headers?: Readonly<Record<string, string>>
}

export function run({ native, visible }: Call, { kinds }: Indices, body: NativeBody): Promise<NativeAnswer> {
  return asked(() => native.search({ ...body, visible, ...(kinds === undefined ? {} : { kinds }) }))
}
