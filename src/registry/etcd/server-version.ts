/**
 * Whether an etcd of this version answers a request for progress only when everything before it was sent. Older ones may
 * tell of a revision whose events are still to come. Source: etcd issues 15220 and 17507; apiserver
 * pkg/storage/etcd3/feature draws the same line.
 */
export function reportsProgress(version: string): boolean {
  const [, major = '0', minor = '0', patch = '0'] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? []
  if (Number(major) !== 3) return Number(major) > 3
  switch (Number(minor)) {
    case 4:
      return Number(patch) >= 31
    case 5:
      return Number(patch) >= 13
    default:
      return Number(minor) > 5
  }
}
