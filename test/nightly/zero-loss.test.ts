/** Three minutes of changes at 500 a second, whatever goes wrong meanwhile: see support/zero-loss.ts. */
import { zeroLossSuite } from '../support/zero-loss-suite.ts'

zeroLossSuite({ seconds: 180, restarts: true })
