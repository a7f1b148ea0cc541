/** The endpoints of search over the index, by their names below `search/`. */
import type { ApiHandler } from '../http/api-request.ts'
import { createAggregateHandler } from './aggregate-handler.ts'
import { createFieldsHandler } from './fields-handler.ts'
import { createLookupHandler } from './lookup-handler.ts'
import { createQueryHandler } from './query-handler.ts'
import { createRelatedHandler } from './related-handler.ts'
import type { SearchParts } from './search-parts.ts'
import { createSuggestHandler } from './suggest-handler.ts'

export function searchEndpoints(parts: SearchParts): Readonly<Record<string, ApiHandler>> {
  return {
    query: createQueryHandler(parts),
    aggregate: createAggregateHandler(parts),
    suggest: createSuggestHandler(parts),
    fields: createFieldsHandler(parts),
    lookup: createLookupHandler(parts),
    related: createRelatedHandler(parts),
  }
}
