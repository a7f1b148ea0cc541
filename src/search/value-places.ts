/** What orders by values (`value-order.ts`) may take of this process at once. */
import { Places } from './places.ts'
import type { SearchUsage } from './search-usage.ts'

/** Each is work of the one thread that answers everything, up to `MAX_WORK_MS` of it. */
const MAX_SORTS = 8
/** Each keeps up to `MAX_ORDERED` hits for as long as its client reads, about 5 MB. */
const MAX_EXPORTS = 16

export class ValuePlaces {
  /** Held while values are read, not while the answer is sent. */
  readonly sorts = new Places('searches in the order of labels, annotations or paths', MAX_SORTS, MAX_SORTS / 2)
  /** Held until the last row is sent. */
  readonly exports = new Places('exports in the order of labels, annotations or paths', MAX_EXPORTS, MAX_EXPORTS / 4)

  constructor(usage?: Pick<SearchUsage, 'watch'>) {
    usage?.watch('value_sorts', this.sorts)
    usage?.watch('value_exports', this.exports)
  }
}
