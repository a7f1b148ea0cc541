/** What the product teams of the simulated retailer run. */
import type { App } from './app.ts'
import { DATA_APPS } from './data.ts'
import { LOGISTICS_APPS, SUPPORT_APPS } from './logistics.ts'
import { IDENTITY_APPS, PAYMENTS_APPS } from './payments.ts'
import { SHOP_APPS } from './shop.ts'

export const BUSINESS_APPS: readonly App[] = [
  ...SHOP_APPS,
  ...PAYMENTS_APPS,
  ...IDENTITY_APPS,
  ...LOGISTICS_APPS,
  ...DATA_APPS,
  ...SUPPORT_APPS,
]
