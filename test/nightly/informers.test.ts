import { it } from 'node:test'
import { informersStayEqual } from '../support/informer-churn.ts'

it('keeps informers of client-go equal to the union of two members for ten minutes', () =>
  informersStayEqual(600_000, 8_000))
