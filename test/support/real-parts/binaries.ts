/** Where the real parts are, built on first use (minutes) and kept outside the checkout afterwards. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'

export type Part =
  'etcd' | 'kube-apiserver' | 'kubectl' | 'kwok' | 'kube-controller-manager' | 'kubectl-1.29' | 'kubelet'

/** Ensures the parts exist and returns the path of each. */
export async function binaries<P extends Part>(...parts: P[]): Promise<Record<P, string>> {
  const script = path.join(import.meta.dirname, 'build-kube.sh')
  const { stdout } = await promisify(execFile)(script, parts, { maxBuffer: 64 << 20 })
  const folder = stdout.trim()
  return Object.fromEntries(parts.map((part) => [part, path.join(folder, part)])) as Record<P, string>
}
