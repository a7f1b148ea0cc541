/** Three minutes of changes at 500 a second, whatever goes wrong meanwhile: see support/zero-loss.ts. */
import { test } from 'node:test'
import { zeroLoss } from '../support/zero-loss.ts'
import { engineUnderTest, sqliteUnderTest } from '../support/zero-loss-stores.ts'

const SECONDS = 180

test('SQLite loses nothing while its file is locked, members flap and we are killed', async (t) => {
  await zeroLoss({
    seconds: SECONDS,
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
      seconds: SECONDS,
      tell: (text) => t.diagnostic(text),
      open: async () => {
        const store = await engineUnderTest(name, { restarts: true })
        t.after(() => store.close())
        return store
      },
    })
  })
}
