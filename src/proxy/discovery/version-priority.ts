const KUBE_VERSION = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/
const STABILITY: Readonly<Record<string, number>> = { alpha: 1, beta: 2 }

/**
 * Higher priority first: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`, then anything else by the alphabet.
 * Source: apimachinery pkg/version, CompareKubeAwareVersionStrings.
 */
export function compareKubeVersions(a: string, b: string): number {
  const x = KUBE_VERSION.exec(a)
  const y = KUBE_VERSION.exec(b)
  if (x === null || y === null) return x === y ? (a < b ? -1 : a > b ? 1 : 0) : x === null ? 1 : -1
  return stability(y) - stability(x) || Number(y[1]) - Number(x[1]) || Number(y[3] ?? 0) - Number(x[3] ?? 0)
}

function stability([, , word]: RegExpExecArray): number {
  return word === undefined ? 3 : (STABILITY[word] ?? 0)
}
