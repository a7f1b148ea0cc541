/** client-go itself against the proxied fleet; ten minutes of it in test/nightly. */
import { it } from 'node:test'
import { informersStayEqual } from '../support/informer-churn.ts'

it('keeps informers of client-go equal to the union of two members that churn, flap and compact', () =>
  informersStayEqual(60_000, 6_000))
