/** What kubectl prints, without what may differ between us and a member: both annotations, versions, ages, addresses. */

const ANNOTATION = /"?(cluster\.karmada\.io\/name|resource\.karmada\.io\/cached-from-cluster)"?/

/** A member that has an APIService nobody serves makes kubectl complain; a session's own id is never passed on. */
const NOISE = /^E[0-9]{4} .*memcache\.go|credential-id/

export function normalised(text: string, addresses: readonly string[]): string {
  let result = text
  for (const address of addresses) result = result.replaceAll(address, 'SERVER')
  const json = parsed(result)
  if (json !== undefined) return JSON.stringify(withoutOurs(json), null, 1)
  return textLines(result)
}

function parsed(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined // a template's output may look like JSON
  }
}

function withoutOurs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOurs)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
    .filter(([key]) => !ANNOTATION.test(key))
    .map(([key, each]): [string, unknown] => [key, key === 'resourceVersion' ? 'VERSION' : withoutOurs(each)])
    .filter(([key, each]) => key !== 'annotations' || Object.keys(each as object).length > 0)
  return Object.fromEntries(entries)
}

/** YAML, tables, descriptions. Blanks that only align are one: what stands beside them may be gone. */
function textLines(text: string): string {
  const lines = text
    .replaceAll(/(?:cluster\.karmada\.io\/name|resource\.karmada\.io\/cached-from-cluster)=\w+,?/g, '')
    .replace(/^( *annotations:)$\n(?=(?: *\S*karmada\.io\/\S*: .*\n){1,2}(?! *\S+: ['"]?\S))/gim, '$1\n')
    .split('\n')
    .map((line) => line.replace(/^(\s*Annotations:)\s+(\S.*)$/, '$1\n$2'))
    .join('\n')
    .split('\n')
    .filter((line) => !ANNOTATION.test(line) && !NOISE.test(line))
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .map((line) => line.replace(/^(resourceVersion|Resource Version): .*$/i, '$1: VERSION'))
    .map((line) => line.replace(/\b([0-9]+[ydhms]){1,2}\b/g, 'AGE'))
  return withoutEmptyAnnotations(lines).join('\n').trim()
}

/** `Annotations:` with nothing of its own below it, and `<none>` in its place. */
function withoutEmptyAnnotations(lines: readonly string[]): string[] {
  const result: string[] = []
  for (const [i, line] of lines.entries()) {
    const isHead = /^annotations:( \{\})?$/i.test(line)
    if (isHead) continue
    if (line === '<none>' && /^Annotations:$/.test(lines[i - 1] ?? '')) continue
    result.push(line)
  }
  return result
}

const CHANCE =
  /^(?:uid|resourceVersion|creationTimestamp|time|clusterIPs?|generateName|kubectl\.kubernetes\.io\/restartedAt|(?:batch\.kubernetes\.io\/)?controller-uid)$/

/** JSON of objects without what is another each time: identities, versions, times, addresses. '' stays ''. */
export function withoutChance(json: string): string {
  if (json === '') return ''
  return JSON.stringify(steady(JSON.parse(json)), null, 1)
    .replaceAll(/\b10\.[0-9]+\.[0-9]+\.[0-9]+\b/g, 'ADDRESS')
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UID')
    .replaceAll(/\b20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z\b/g, 'TIME')
}

/** A real server puts managers in the order of their times, which are whole seconds: here by what they are. */
function steady(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) {
    const items = value.map((each) => steady(each))
    return key === 'managedFields' ? items.map((each) => JSON.stringify(each)).sort() : items
  }
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name]) => !CHANCE.test(name))
  return Object.fromEntries(kept.map(([name, each]) => [name, steady(each, name)]))
}
