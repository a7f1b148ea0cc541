/** Which release of an application a cluster runs, and what of it fails there. */
import type { App, Sickness } from '../catalogue/app.ts'
import type { Context } from './context.ts'

/** System images follow the cluster's version; staging runs what production gets next. */
export function tagOf(app: App, { cluster }: Context): string {
  if (app.name === 'kube-proxy') return cluster.kubernetesVersion
  const ahead = cluster.role === 'staging' && app.image.startsWith('registry.aurora.example/')
  return ahead ? tagBefore(app.tag, -1) : app.tag
}

/** `2.31.0` → `2.30.4`: a tag of `steps` releases earlier (later, if negative). Tags of other forms stay. */
export function tagBefore(tag: string, steps: number): string {
  const parts = /^(v?\d+)\.(\d+)\.(\d+)(.*)$/.exec(tag)
  if (parts === null) return tag
  const [, major = '0', minor = '0', patch = '0', rest = ''] = parts
  const earlier = Number(minor) - steps
  if (earlier < 0) return `${major}.${minor}.${Math.max(0, Number(patch) - steps)}${rest}`
  return `${major}.${earlier}.${(((Number(patch) + steps * 3) % 7) + 7) % 7}${rest}`
}

/** What fails in this cluster, one entry for each pod. */
export function sicknessesOf(app: App, { cluster }: Context): Sickness[] {
  const here = (app.sick ?? []).filter((sickness) => sickness.clusters.includes(cluster.name))
  return here.flatMap((sickness) => Array.from({ length: sickness.pods ?? 1 }, () => sickness))
}
