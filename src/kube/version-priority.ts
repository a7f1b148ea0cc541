/**
 * Kubernetes' own order of API versions: v2 before v1 before v1beta2 before v1beta1 before v1alpha1 before anything else.
 * Source: apimachinery pkg/version `CompareKubeAwareVersionStrings`.
 */
const VERSION = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/
const STAGES = ['alpha', 'beta', undefined]

/** Negative where `a` has the higher priority. */
export function compareVersionPriority(a: string, b: string): number {
  const [x, y] = [parse(a), parse(b)]
  if (x === undefined || y === undefined) return x !== undefined ? -1 : y !== undefined ? 1 : a < b ? -1 : a > b ? 1 : 0
  return y.stage - x.stage || y.major - x.major || y.minor - x.minor
}

function parse(version: string): { stage: number; major: number; minor: number } | undefined {
  const [, major, stage, minor = '0'] = VERSION.exec(version) ?? []
  if (major === undefined) return undefined
  return { stage: STAGES.indexOf(stage), major: Number(major), minor: Number(minor) }
}
