/** What a server of these groups has, as a kube-apiserver lists it at `/`. Source: apiserver pkg/server/routes/index.go. */
import type { MergedGroup } from './merged-resources.ts'

const ALWAYS = ['/api', '/apis', '/healthz', '/livez', '/openapi/v2', '/openapi/v3', '/readyz', '/version']

export function rootPaths(groups: readonly MergedGroup[]): { readonly paths: readonly string[] } {
  const served = groups.flatMap(({ group, versions }) => {
    const root = group === '' ? '/api' : `/apis/${group}`
    return [root, ...versions.map(({ version }) => `${root}/${version}`)]
  })
  return { paths: [...new Set([...ALWAYS, ...served])].sort() }
}
