/** Webhooks and policies that look at requests before they take effect, and API services. */
import type { JsonObject, KindColumns } from './column.ts'
import { compareUtf8 } from '../../util/bytes.ts'
import { ageColumn, column, count, nameColumn } from './define.ts'
import { at, condition, isObject, items, size, text, textEntries, texts } from './read.ts'

export const webhookConfiguration: KindColumns = {
  columns: [
    nameColumn,
    count('Webhooks', (object) => size(object, 'webhooks'), { description: 'How many webhooks it has.' }),
    ageColumn,
  ],
}

const paramKindColumn = column('ParamKind', paramKind, { description: 'The kind of objects that configure it.' })

export const validatingPolicy: KindColumns = {
  columns: [
    nameColumn,
    count('Validations', (policy) => size(policy, 'spec', 'validations'), { description: 'How many rules it has.' }),
    paramKindColumn,
    ageColumn,
  ],
}

export const mutatingPolicy: KindColumns = {
  columns: [
    nameColumn,
    count('Mutations', (policy) => size(policy, 'spec', 'mutations'), { description: 'How many changes it makes.' }),
    paramKindColumn,
    ageColumn,
  ],
}

/** Bindings of either sort of policy. */
export const policyBinding: KindColumns = {
  columns: [
    nameColumn,
    column('PolicyName', (binding) => text(binding, 'spec', 'policyName'), { description: 'The policy it applies.' }),
    column('ParamRef', paramRef, { description: 'The object that configures it here.' }),
    ageColumn,
  ],
}

export const apiService: KindColumns = {
  columns: [
    nameColumn,
    column('Service', servedBy, { description: 'The service behind it.' }),
    column('Available', available, { description: 'Whether the service answers.' }),
    ageColumn,
  ],
}

function paramKind(policy: JsonObject): string {
  const kind = at(policy, 'spec', 'paramKind')
  return isObject(kind) ? `${text(kind, 'apiVersion')}/${text(kind, 'kind')}` : '<unset>'
}

function paramRef(binding: JsonObject): string {
  const reference = at(binding, 'spec', 'paramRef')
  const name = text(reference, 'name')
  if (name !== '') return `${text(reference, 'namespace') || '*'}/${name}`
  const selector = at(reference, 'selector')
  return isObject(selector) ? goSelector(selector) : '<unset>'
}

/** A selector as Go prints the generated type; a kube-apiserver shows it so. */
function goSelector(selector: JsonObject): string {
  const labels = textEntries(selector, 'matchLabels')
    .toSorted(([a], [b]) => compareUtf8(a, b))
    .map(([key, value]) => `${key}: ${value},`)
  const expressions = items(selector, 'matchExpressions').map((expression) => {
    const values = `[${texts(expression, 'values').join(' ')}]`
    return `LabelSelectorRequirement{Key:${text(expression, 'key')},Operator:${text(expression, 'operator')},Values:${values},},`
  })
  const matchExpressions = `[]LabelSelectorRequirement{${expressions.join('')}}`
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:${matchExpressions},}`
}

function servedBy(apiService: JsonObject): string {
  const service = at(apiService, 'spec', 'service')
  return isObject(service) ? `${text(service, 'namespace')}/${text(service, 'name')}` : 'Local'
}

function available(apiService: JsonObject): string {
  const found = condition(items(apiService, 'status', 'conditions'), 'Available')
  if (found === undefined) return 'Unknown'
  const status = text(found, 'status')
  const reason = text(found, 'reason')
  return status === 'True' || reason === '' ? status : `${status} (${reason})`
}
