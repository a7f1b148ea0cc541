/** What is remembered of texts that come again, in tables of bounded size (`text-memo.ts`). */
import { Gauge, type Registry } from '../telemetry/metrics.ts'
import { memoSlots } from '../util/text-memo.ts'
import { memoSlotsOfThreads } from './worker-rpc.ts'

export function addMemoMetrics(registry: Registry): void {
  new Gauge({
    name: 'fleetsearch_text_memo_slots',
    help: 'Slots of the tables that remember what was made of texts, of 16 bytes and what is kept, by where they are.',
    labelNames: ['thread'],
    registers: [registry],
    collect() {
      this.set({ thread: 'main' }, memoSlots())
      this.set({ thread: 'stores' }, memoSlotsOfThreads())
    },
  })
}
