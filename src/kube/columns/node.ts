/** Nodes and what describes them to the cluster. */
import type { JsonObject, KindColumns } from './column.ts'
import { ageColumn, column, extra, nameColumn } from './define.ts'
import { distinct } from './format.ts'
import { flag, items, optionalText, text, textEntries } from './read.ts'

const ROLE_PREFIX = 'node-role.kubernetes.io/'
const ROLE_LABEL = 'kubernetes.io/role'

const info = (node: JsonObject, key: string): string => text(node, 'status', 'nodeInfo', key)

export const node: KindColumns = {
  columns: [
    nameColumn,
    column('Status', nodeStatus, { description: 'Whether it is ready and takes new pods.' }),
    column('Roles', roles, { description: 'Roles its labels give it.' }),
    ageColumn,
    column('Version', (node) => info(node, 'kubeletVersion'), {
      description: 'Version of its kubelet.',
      type: 'version',
    }),
    column('Internal-IP', (node) => address(node, 'InternalIP'), {
      description: 'Its first address inside the network of the cluster.',
      wide: true,
      type: 'ip',
    }),
    column('External-IP', (node) => address(node, 'ExternalIP'), {
      description: 'Its first address outside of it.',
      wide: true,
      type: 'ip',
    }),
    column('OS-Image', (node) => info(node, 'osImage') || '<unknown>', {
      description: 'Its operating system.',
      wide: true,
    }),
    column('Kernel-Version', kernel, { description: 'Its kernel and architecture.', wide: true }),
    column('Container-Runtime', (node) => info(node, 'containerRuntimeVersion') || '<unknown>', {
      description: 'What runs its containers.',
      wide: true,
    }),
  ],
  extra: [
    extra('ready', 'bool', (node) => readyCondition(node) === 'True'),
    extra('unschedulable', 'bool', (node) => flag(node, 'spec', 'unschedulable')),
    extra('architecture', 'keyword', (node) => optionalText(node, 'status', 'nodeInfo', 'architecture')),
    extra('os', 'keyword', (node) => optionalText(node, 'status', 'nodeInfo', 'operatingSystem')),
    extra('podcidr', 'keyword', (node) => optionalText(node, 'spec', 'podCIDR')),
    extra('cpu', 'quantity', (node) => optionalText(node, 'status', 'allocatable', 'cpu')),
    extra('memory', 'quantity', (node) => optionalText(node, 'status', 'allocatable', 'memory')),
    extra('pods', 'quantity', (node) => optionalText(node, 'status', 'allocatable', 'pods')),
    extra('zone', 'keyword', (node) => optionalText(node, 'metadata', 'labels', 'topology.kubernetes.io/zone')),
    extra('instancetype', 'keyword', (node) =>
      optionalText(node, 'metadata', 'labels', 'node.kubernetes.io/instance-type'),
    ),
  ],
}

export const runtimeClass: KindColumns = {
  columns: [
    nameColumn,
    column('Handler', (runtimeClass) => text(runtimeClass, 'handler'), {
      description: 'What the nodes know this runtime by.',
    }),
    ageColumn,
  ],
}

/** The last condition of that type says it, as in a kube-apiserver. */
function readyCondition(node: JsonObject): string | undefined {
  return optionalText(
    items(node, 'status', 'conditions').findLast((c) => c['type'] === 'Ready'),
    'status',
  )
}

function nodeStatus(node: JsonObject): string {
  const ready = items(node, 'status', 'conditions').findLast((c) => c['type'] === 'Ready')
  const words = [ready === undefined ? 'Unknown' : ready['status'] === 'True' ? 'Ready' : 'NotReady']
  if (flag(node, 'spec', 'unschedulable')) words.push('SchedulingDisabled')
  return words.join(',')
}

function roles(node: JsonObject): string {
  const found = textEntries(node, 'metadata', 'labels').map(([key, value]) => {
    if (key.startsWith(ROLE_PREFIX)) return key.slice(ROLE_PREFIX.length)
    return key === ROLE_LABEL ? value : ''
  })
  return distinct(found.filter((role) => role !== '')).join(',') || '<none>'
}

function address(node: JsonObject, type: string): string {
  const found = items(node, 'status', 'addresses').find((candidate) => candidate['type'] === type)
  return found === undefined ? '<none>' : text(found, 'address')
}

function kernel(node: JsonObject): string {
  const version = info(node, 'kernelVersion') || '<unknown>'
  const architecture = info(node, 'architecture')
  return architecture === '' ? version : `${version} (${architecture})`
}
