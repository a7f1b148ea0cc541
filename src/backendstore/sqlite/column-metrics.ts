/** What the columns of the embedded store take. */
import { Gauge, type Registry } from '../../telemetry/metrics.ts'
import { MAX_COLUMN_BYTES } from './columns/columns.ts'

/** To give to `SqliteStore.open` as `onColumnBytes`. */
export function columnBytesGauge(registry: Registry): (bytes: number) => void {
  const registers = [registry]
  const bytes = new Gauge({
    name: 'fleetsearch_search_column_bytes',
    help: 'Memory of the columns that search keeps; 0 while there are none.',
    registers,
  })
  const most = new Gauge({
    name: 'fleetsearch_search_column_bytes_limit',
    help: 'Larger columns are given up: the tables are asked instead.',
    registers,
  })
  most.set(MAX_COLUMN_BYTES)
  return (now) => bytes.set(now)
}
