/** The small kinds of the core group. */
import { compareUtf8 } from '../../util/bytes.ts'
import type { JsonObject, KindColumns } from './column.ts'
import { ageColumn, column, count, createdAtColumn, extra, nameColumn } from './define.ts'
import { condition, items, optionalText, size, text, textEntries } from './read.ts'

export const namespace: KindColumns = {
  columns: [
    nameColumn,
    column('Status', (namespace) => text(namespace, 'status', 'phase'), { description: 'Active or Terminating.' }),
    ageColumn,
  ],
}

export const configMap: KindColumns = {
  columns: [
    nameColumn,
    count('Data', (configMap) => size(configMap, 'data') + size(configMap, 'binaryData'), {
      description: 'How many keys it has.',
      tableType: 'string',
    }),
    ageColumn,
  ],
}

export const secret: KindColumns = {
  columns: [
    nameColumn,
    column('Type', (secret) => text(secret, 'type'), { description: 'What it is for.' }),
    count('Data', (secret) => size(secret, 'data'), { description: 'How many keys it has.', tableType: 'string' }),
    ageColumn,
  ],
}

export const nameAndAge: KindColumns = { columns: [nameColumn, ageColumn] }

/** Kinds for which a kube-apiserver has no columns of its own. */
export const nameAndCreation: KindColumns = { columns: [nameColumn, createdAtColumn] }

export const resourceQuota: KindColumns = {
  columns: [
    nameColumn,
    column('Request', (quota) => quotaCell(quota, (resource) => !isLimit(resource)), {
      description: 'Used and allowed amounts of what is requested or counted.',
    }),
    column('Limit', (quota) => quotaCell(quota, isLimit), { description: 'Used and allowed sums of limits.' }),
    ageColumn,
  ],
}

export const componentStatus: KindColumns = {
  columns: [
    nameColumn,
    column('Status', componentHealth, { description: 'Whether the component is healthy.' }),
    column('Message', (component) => text(healthy(component), 'message'), { description: 'What it says about that.' }),
    column('Error', (component) => text(healthy(component), 'error'), { description: 'What is wrong with it.' }),
  ],
}

export const lease: KindColumns = {
  columns: [
    nameColumn,
    column('Holder', (lease) => text(lease, 'spec', 'holderIdentity'), { description: 'Who holds it.' }),
    ageColumn,
  ],
  extra: [extra('renewed', 'time', (lease) => optionalText(lease, 'spec', 'renewTime'))],
}

export const leaseCandidate: KindColumns = {
  columns: [
    nameColumn,
    column('LeaseName', (candidate) => text(candidate, 'spec', 'leaseName'), { description: 'Which lease it wants.' }),
    column('BinaryVersion', (candidate) => text(candidate, 'spec', 'binaryVersion'), {
      description: 'Version of the program.',
      type: 'version',
    }),
    column('EmulationVersion', (candidate) => text(candidate, 'spec', 'emulationVersion'), {
      description: 'Version that the program behaves as.',
      type: 'version',
    }),
    ageColumn,
  ],
}

const isLimit = (resource: string): boolean => resource.startsWith('limits.')

function quotaCell(quota: JsonObject, takes: (resource: string) => boolean): string {
  const used = new Map(textEntries(quota, 'status', 'used'))
  return textEntries(quota, 'status', 'hard')
    .filter(([resource]) => takes(resource))
    .toSorted(([a], [b]) => compareUtf8(a, b))
    .map(([resource, hard]) => `${resource}: ${used.get(resource) ?? '0'}/${hard}`)
    .join(', ')
}

const healthy = (component: JsonObject): JsonObject | undefined => condition(items(component, 'conditions'), 'Healthy')

function componentHealth(component: JsonObject): string {
  const found = healthy(component)
  if (found === undefined) return 'Unknown'
  return found['status'] === 'True' ? 'Healthy' : 'Unhealthy'
}
