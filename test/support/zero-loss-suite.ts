/** `zeroLoss` on every kind of store. */
import { test } from 'node:test'
import { zeroLoss } from './zero-loss.ts'
import { engineUnderTest, sqliteUnderTest } from './zero-loss-stores.ts'

/** `restarts`: engines are killed and started again, too. */
export function zeroLossSuite({ seconds, restarts }: { readonly seconds: number; readonly restarts: boolean }): void {
  test('SQLite loses nothing while its file is locked, members flap and we are killed', async (t) => {
    await zeroLoss({
      seconds,
      tell: (text) => t.diagnostic(text),
      open: async (folder) => {
        const store = sqliteUnderTest(folder)
        t.after(() => store.close())
        return store
      },
    })
  })

  for (const name of ['opensearch-3', 'elasticsearch-9'] as const) {
    test(`${name} loses nothing while it refuses, loses replies, is away, and we are killed`, async (t) => {
      await zeroLoss({
        seconds,
        tell: (text) => t.diagnostic(text),
        open: async () => {
          const store = await engineUnderTest(name, { restarts })
          t.after(() => store.close())
          return store
        },
      })
    })
  }
}
