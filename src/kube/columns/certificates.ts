/** Requests for certificates, and bundles of trusted ones. */
import { humanDuration } from '../duration.ts'
import type { JsonObject, KindColumns } from './column.ts'
import { ageColumn, column, labelMapColumn, nameColumn } from './define.ts'
import { items, optionalInteger, text } from './read.ts'

const signer = (object: JsonObject): string => text(object, 'spec', 'signerName')

const SIGNER = { description: 'Who is to sign.' }

export const certificateSigningRequest: KindColumns = {
  columns: [
    nameColumn,
    ageColumn,
    column('SignerName', (request) => signer(request) || '<none>', SIGNER),
    column('Requestor', (request) => text(request, 'spec', 'username'), { description: 'Who asks.' }),
    column('RequestedDuration', requestedDuration, {
      description: 'For how long.',
      type: 'duration',
      value: (request) => optionalInteger(request, 'spec', 'expirationSeconds'),
    }),
    column('Condition', conditionText, { description: 'What became of it.' }),
  ],
}

export const clusterTrustBundle: KindColumns = {
  columns: [nameColumn, column('SignerName', (bundle) => signer(bundle) || '<none>', SIGNER)],
}

const STATES = ['Issued', 'Denied', 'Failed']

export const podCertificateRequest: KindColumns = {
  columns: [
    nameColumn,
    column('PodName', (request) => text(request, 'spec', 'podName'), { description: 'The pod it is for.' }),
    column('ServiceAccountName', (request) => text(request, 'spec', 'serviceAccountName'), {
      description: 'Who the pod runs as.',
    }),
    column('NodeName', (request) => text(request, 'spec', 'nodeName'), { description: 'Where the pod runs.' }),
    column('SignerName', signer, SIGNER),
    column('State', podRequestState, { description: 'What became of it.' }),
    labelMapColumn('UnverifiedUserAnnotations', ['spec', 'unverifiedUserAnnotations'], {
      description: 'What the pod adds, unchecked.',
    }),
  ],
}

function requestedDuration(request: JsonObject): string {
  const seconds = optionalInteger(request, 'spec', 'expirationSeconds')
  return seconds === undefined ? '<none>' : humanDuration(seconds * 1_000)
}

function conditionText(request: JsonObject): string {
  const types = new Set(items(request, 'status', 'conditions').map((condition) => text(condition, 'type')))
  const words = [types.has('Denied') ? 'Denied' : types.has('Approved') ? 'Approved' : 'Pending']
  if (types.has('Failed')) words.push('Failed')
  if (text(request, 'status', 'certificate') !== '') words.push('Issued')
  return words.join(',')
}

function podRequestState(request: JsonObject): string {
  const types = items(request, 'status', 'conditions').map((condition) => text(condition, 'type'))
  return types.findLast((type) => STATES.includes(type)) ?? 'Pending'
}
