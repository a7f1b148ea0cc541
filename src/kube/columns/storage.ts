/** Volumes, claims, classes and drivers. */
import type { JsonObject, KindColumns } from './column.ts'
import { ageColumn, column, count, nameColumn } from './define.ts'
import { at, flag, has, items, optionalText, size, text, texts } from './read.ts'

const BETA_CLASS = 'volume.beta.kubernetes.io/storage-class'
const DEFAULT_CLASS = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
]

const ACCESS_MODES: readonly (readonly [string, string])[] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
]

const phaseColumn = column(
  'Status',
  (object) => (has(object, 'metadata', 'deletionTimestamp') ? 'Terminating' : text(object, 'status', 'phase')),
  { description: 'Where it is in its life.' },
)

const storageClassColumn = column('StorageClass', storageClassOf, { description: 'Its storage class.' })

const attributesClassColumn = column(
  'VolumeAttributesClass',
  (object) => optionalText(object, 'spec', 'volumeAttributesClassName') ?? '<unset>',
  { description: 'Its volume attributes class.' },
)

const volumeModeColumn = column('VolumeMode', (object) => optionalText(object, 'spec', 'volumeMode') ?? '<unset>', {
  description: 'File system or block device.',
  wide: true,
})

export const persistentVolume: KindColumns = {
  columns: [
    nameColumn,
    column('Capacity', (volume) => text(volume, 'spec', 'capacity', 'storage') || '0', {
      description: 'How much it holds.',
      type: 'quantity',
    }),
    column('Access Modes', (volume) => accessModes(texts(volume, 'spec', 'accessModes')), {
      description: 'How it can be mounted.',
    }),
    column('Reclaim Policy', (volume) => text(volume, 'spec', 'persistentVolumeReclaimPolicy'), {
      description: 'What becomes of it without its claim.',
    }),
    phaseColumn,
    column('Claim', claimOf, { description: 'Which claim it is bound to.' }),
    storageClassColumn,
    attributesClassColumn,
    column('Reason', (volume) => text(volume, 'status', 'reason'), { description: 'Why it failed.' }),
    ageColumn,
    volumeModeColumn,
  ],
}

const isBound = (claim: JsonObject): boolean => text(claim, 'spec', 'volumeName') !== ''

export const persistentVolumeClaim: KindColumns = {
  columns: [
    nameColumn,
    phaseColumn,
    column('Volume', (claim) => text(claim, 'spec', 'volumeName'), { description: 'Which volume it is bound to.' }),
    column('Capacity', (claim) => (isBound(claim) ? text(claim, 'status', 'capacity', 'storage') || '0' : ''), {
      description: 'How much the volume holds.',
      type: 'quantity',
    }),
    column('Access Modes', (claim) => (isBound(claim) ? accessModes(texts(claim, 'status', 'accessModes')) : ''), {
      description: 'How the volume can be mounted.',
    }),
    storageClassColumn,
    attributesClassColumn,
    ageColumn,
    volumeModeColumn,
  ],
  extra: [
    {
      field: 'requested',
      type: 'quantity',
      value: (claim) => optionalText(claim, 'spec', 'resources', 'requests', 'storage'),
    },
  ],
}

export const storageClass: KindColumns = {
  columns: [
    { ...nameColumn, cell: storageClassName },
    column('Provisioner', (storageClass) => text(storageClass, 'provisioner'), {
      description: 'Who makes its volumes.',
    }),
    column('ReclaimPolicy', (storageClass) => optionalText(storageClass, 'reclaimPolicy') ?? 'Delete', {
      description: 'What becomes of a volume without its claim.',
    }),
    column('VolumeBindingMode', (storageClass) => optionalText(storageClass, 'volumeBindingMode') ?? 'Immediate', {
      description: 'When volumes are made and bound.',
    }),
    column('AllowVolumeExpansion', (storageClass) => flag(storageClass, 'allowVolumeExpansion'), {
      description: 'Whether volumes can grow.',
      type: 'bool',
      value: (storageClass) =>
        has(storageClass, 'allowVolumeExpansion') ? flag(storageClass, 'allowVolumeExpansion') : undefined,
    }),
    ageColumn,
  ],
}

export const volumeAttributesClass: KindColumns = {
  columns: [
    nameColumn,
    column('DriverName', (object) => text(object, 'driverName'), { description: 'Which CSI driver it is for.' }),
    ageColumn,
  ],
}

export const volumeAttachment: KindColumns = {
  columns: [
    nameColumn,
    column('Attacher', (object) => text(object, 'spec', 'attacher'), {
      description: 'Which driver attaches the volume.',
      format: 'name',
    }),
    column('PV', (object) => text(object, 'spec', 'source', 'persistentVolumeName'), { description: 'The volume.' }),
    column('Node', (object) => text(object, 'spec', 'nodeName'), { description: 'The node it is attached to.' }),
    column('Attached', (object) => flag(object, 'status', 'attached'), {
      description: 'Whether it is attached.',
      tableType: 'boolean',
      type: 'bool',
    }),
    ageColumn,
  ],
}

export const csiNode: KindColumns = {
  columns: [
    nameColumn,
    count('Drivers', (object) => size(object, 'spec', 'drivers'), { description: 'Drivers registered on the node.' }),
    ageColumn,
  ],
}

const driverFlag = (name: string, key: string, missing: boolean, description: string) =>
  column(name, (driver) => (has(driver, 'spec', key) ? flag(driver, 'spec', key) : missing), {
    description,
    tableType: 'boolean',
    type: 'bool',
  })

export const csiDriver: KindColumns = {
  columns: [
    nameColumn,
    driverFlag('AttachRequired', 'attachRequired', true, 'Whether volumes are attached to nodes.'),
    driverFlag('PodInfoOnMount', 'podInfoOnMount', false, 'Whether it is told about the pod when mounting.'),
    driverFlag('StorageCapacity', 'storageCapacity', false, 'Whether it publishes how much storage is left.'),
    column('TokenRequests', tokenRequests, { description: 'Audiences of the tokens it wants.' }),
    driverFlag('RequiresRepublish', 'requiresRepublish', false, 'Whether mounts are refreshed from time to time.'),
    column('Modes', (driver) => texts(driver, 'spec', 'volumeLifecycleModes').join(',') || '<none>', {
      description: 'Persistent or ephemeral volumes.',
    }),
    ageColumn,
  ],
}

function accessModes(modes: readonly string[]): string {
  return ACCESS_MODES.filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(',')
}

function claimOf(volume: JsonObject): string {
  if (!has(volume, 'spec', 'claimRef')) return ''
  return `${text(volume, 'spec', 'claimRef', 'namespace')}/${text(volume, 'spec', 'claimRef', 'name')}`
}

function storageClassOf(object: JsonObject): string {
  return optionalText(object, 'metadata', 'annotations', BETA_CLASS) ?? text(object, 'spec', 'storageClassName')
}

function storageClassName(storageClass: JsonObject): string {
  const name = text(storageClass, 'metadata', 'name')
  const isDefault = DEFAULT_CLASS.some((key) => at(storageClass, 'metadata', 'annotations', key) === 'true')
  return isDefault ? `${name} (default)` : name
}

function tokenRequests(driver: JsonObject): string {
  if (!has(driver, 'spec', 'tokenRequests')) return '<unset>'
  return items(driver, 'spec', 'tokenRequests')
    .map((request) => text(request, 'audience'))
    .join(',')
}
