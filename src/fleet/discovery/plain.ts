/** Discovery as servers before aggregated discovery speak it: `APIVersions`, `APIGroupList`, an `APIResourceList` each. */
import type { DiscoveredResource, DiscoveryPart } from './discovered.ts'
import { isMemberError } from '../member-error.ts'
import type { MemberClient } from '../member.ts'
import { fields, fieldsList, textOrEmpty, texts, type Fields } from '../fields.ts'
import { fetchGroupVersion } from './document.ts'

type GroupVersionEntry = Pick<DiscoveredResource, 'group' | 'version' | 'preferred'>

const AT_ONCE = 8 // documents under way; the client limits the rate anyway

export function plainCore(client: MemberClient, versions: Fields, signal: AbortSignal): Promise<DiscoveryPart> {
  const entries = texts(versions, 'versions').map((version, index) => ({ group: '', version, preferred: index === 0 }))
  return fetchAll(client, entries, signal)
}

export function plainGroups(client: MemberClient, groups: Fields, signal: AbortSignal): Promise<DiscoveryPart> {
  const entries = fieldsList(groups, 'groups').flatMap((group) => {
    const preferred = textOrEmpty(fields(group.preferredVersion), 'version')
    const versions = fieldsList(group, 'versions').map((version) => textOrEmpty(version, 'version'))
    return versions
      .map((version) => ({ group: textOrEmpty(group, 'name'), version, preferred: version === preferred }))
      .sort((a, b) => Number(b.preferred) - Number(a.preferred))
  })
  return fetchAll(client, entries, signal)
}

async function fetchAll(
  client: MemberClient,
  entries: readonly GroupVersionEntry[],
  signal: AbortSignal,
): Promise<DiscoveryPart> {
  const resources: DiscoveredResource[] = []
  const failed = new Set<string>()
  for (let at = 0; at < entries.length; at += AT_ONCE) {
    const batch = entries.slice(at, at + AT_ONCE)
    const lists = await Promise.all(batch.map((entry) => fetchOne(client, entry, signal)))
    lists.forEach((list, index) => {
      const entry = batch[index]
      if (entry === undefined) return
      if (list === undefined) failed.add(entry.group)
      else resources.push(...resourcesOf(list, entry))
    })
  }
  return { resources, failedGroups: [...failed], etag: undefined }
}

/** Undefined where this group-version alone does not answer (an aggregated API that is down or hangs). */
async function fetchOne(
  client: MemberClient,
  { group, version }: GroupVersionEntry,
  signal: AbortSignal,
): Promise<Fields | undefined> {
  try {
    return await fetchGroupVersion(client, group === '' ? `/api/${version}` : `/apis/${group}/${version}`, signal)
  } catch (error) {
    if (isMemberError(error, 'rejected') || isMemberError(error, 'timeout') || isMemberError(error, 'protocol')) return
    throw error
  }
}

function resourcesOf(list: Fields, entry: GroupVersionEntry): DiscoveredResource[] {
  const all = fieldsList(list, 'resources')
  const subresources = new Map<string, string[]>()
  for (const resource of all) {
    const [parent = '', subresource] = textOrEmpty(resource, 'name').split('/')
    if (subresource !== undefined) subresources.set(parent, [...(subresources.get(parent) ?? []), subresource])
  }
  return all
    .filter((resource) => !textOrEmpty(resource, 'name').includes('/'))
    .map((resource) => ({
      ...entry,
      kind: textOrEmpty(resource, 'kind'),
      resource: textOrEmpty(resource, 'name'),
      singular: textOrEmpty(resource, 'singularName'),
      namespaced: resource.namespaced === true,
      verbs: texts(resource, 'verbs'),
      shortNames: texts(resource, 'shortNames'),
      categories: texts(resource, 'categories'),
      subresources: subresources.get(textOrEmpty(resource, 'name')) ?? [],
    }))
}
