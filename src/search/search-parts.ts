/** What the endpoints of search read from; joined in the composition root. */
import type { CacheReader } from '../cache/reader.ts'
import type { ColumnSource } from '../http/column-source.ts'
import type { Rights } from '../http/rights.ts'
import type { SearchStore } from '../query/search-request.ts'
import type { Clock } from '../util/clock.ts'
import type { ControlPlane } from './control-plane.ts'
import type { ClusterNames } from './known-resources.ts'
import type { SearchUsage } from './search-usage.ts'

export interface SearchParts {
  /** Undefined: everybody sees everything. */
  readonly rights?: Rights | undefined
  readonly store: SearchStore
  readonly cache: CacheReader
  readonly clock: Clock
  /** The clusters there are, so that one of which nothing is cached is told as missing. */
  readonly clusters?: ClusterNames
  /** The printer columns of custom resources; without it their JSON paths alone are fields. */
  readonly columns?: ColumnSource
  /** How far the store is behind the cache; left out of answers where that is not known here. */
  readonly index?: { status(): IndexStatus | undefined }
  /** Has Karmada's chain where the cache does not; undefined: there is none. */
  readonly controlPlane?: ControlPlane | undefined
  /** Told of what is bounded; default: nobody is. */
  readonly usage?: Pick<SearchUsage, 'watch'>
}

export interface IndexStatus {
  readonly pending: number
  readonly lagMs: number
  /** False while the store may lack what the cache has had for a while: totals are then no more than a bound. */
  readonly complete: boolean
}
