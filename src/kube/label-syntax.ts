/**
 * What may stand as a label's key and value, with the messages of a kube-apiserver for what may not.
 * Source: apimachinery pkg/api/validate/content (1.36).
 */

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`
const NAME = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const VALUE = `(${NAME})?`

const LABEL_REGEXP = new RegExp(`^${LABEL}$`)
const SUBDOMAIN_REGEXP = new RegExp(`^${SUBDOMAIN}$`)
const NAME_REGEXP = new RegExp(`^${NAME}$`)
const VALUE_REGEXP = new RegExp(`^${VALUE}$`)

const MAX_LABEL = 63
const MAX_SUBDOMAIN = 253

const ALPHANUMERIC = 'must start and end with an alphanumeric character'
const NAME_RULE = `must consist of alphanumeric characters, '-', '_' or '.', and ${ALPHANUMERIC}`
const VALUE_RULE = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and ${ALPHANUMERIC}`
const SUBDOMAIN_RULE = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and ${ALPHANUMERIC}`
const LABEL_RULE = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and ${ALPHANUMERIC}`

// The doubled blanks are theirs.
const NAME_FAULT = `${NAME_RULE} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${NAME}')`
const VALUE_FAULT = `${VALUE_RULE} (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '${VALUE}')`
const SUBDOMAIN_FAULT = `${SUBDOMAIN_RULE} (e.g. 'example.com', regex used for validation is '${SUBDOMAIN}')`
const LABEL_FAULT = `${LABEL_RULE} (e.g. 'my-name',  or '123-abc', regex used for validation is '${LABEL}')`

const tooLong = (bytes: number): string => `must be no more than ${bytes} bytes`

/** Faults of a label key (`app`, `example.com/app`); empty where it is one. */
export function labelKeyFaults(key: string): string[] {
  const parts = key.split('/')
  const name = parts.at(-1) ?? ''
  if (parts.length > 2) {
    return [`a valid label key ${NAME_FAULT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
  }
  const faults = parts.length === 2 ? prefixFaults(parts[0] ?? '') : []
  if (name === '') faults.push('name part must be non-empty')
  else if (Buffer.byteLength(name) > MAX_LABEL) faults.push(`name part ${tooLong(MAX_LABEL)}`)
  if (!NAME_REGEXP.test(name)) faults.push(`name part ${NAME_FAULT}`)
  return faults
}

function prefixFaults(prefix: string): string[] {
  if (prefix === '') return ['prefix part must be non-empty']
  return dnsSubdomainFaults(prefix).map((fault) => `prefix part ${fault}`)
}

/** Faults of a label value; empty where it is one. */
export function labelValueFaults(value: string): string[] {
  const faults = []
  if (Buffer.byteLength(value) > MAX_LABEL) faults.push(tooLong(MAX_LABEL))
  if (!VALUE_REGEXP.test(value)) faults.push(VALUE_FAULT)
  return faults
}

/** Faults of a DNS subdomain, the form of most objects' names; empty where it is one. */
export function dnsSubdomainFaults(name: string): string[] {
  const faults = []
  if (Buffer.byteLength(name) > MAX_SUBDOMAIN) faults.push(tooLong(MAX_SUBDOMAIN))
  if (!SUBDOMAIN_REGEXP.test(name)) faults.push(SUBDOMAIN_FAULT)
  return faults
}

/** Faults of a DNS label, the form of a namespace's name; empty where it is one. */
export function dnsLabelFaults(name: string): string[] {
  const faults = []
  if (Buffer.byteLength(name) > MAX_LABEL) faults.push(tooLong(MAX_LABEL))
  if (!LABEL_REGEXP.test(name)) faults.push(SUBDOMAIN_REGEXP.test(name) ? 'must not contain dots' : LABEL_FAULT)
  return faults
}
