/** The real kubectl, with a home of its own so that it neither reads nor writes the user's. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { binaries } from './binaries.ts'

export interface KubectlOptions {
  /** Which kubectl. Default: that of the servers' minor version. */
  readonly part?: 'kubectl' | 'kubectl-1.29'
  /** Passed as `--kubeconfig`; without one kubectl has only what `args` say (`--server …`). */
  readonly kubeconfig?: string
  /** Standard input, for `-f -`. */
  readonly input?: string
  readonly signal?: AbortSignal
  /** Where it keeps discovery; default a folder for this process. Tests of discovery want a fresh one each. */
  readonly cacheDir?: string
  /** More than PATH, HOME and KUBECONFIG, e.g. KUBE_EDITOR. */
  readonly env?: Readonly<Record<string, string>>
}

export interface KubectlResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

let home: string | undefined

function temporaryHome(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'fleetsearch-kubectl-'))
  process.once('exit', () => {
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

/** Runs kubectl to its end (or the signal's) and resolves whatever its exit code. */
export async function tryKubectl(args: readonly string[], options: KubectlOptions = {}): Promise<KubectlResult> {
  const { part = 'kubectl' } = options
  const { [part]: command } = await binaries(part)
  home ??= temporaryHome()
  const child = spawn(command, ['--cache-dir', options.cacheDir ?? path.join(home, `cache-of-${part}`), ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: home, KUBECONFIG: options.kubeconfig ?? '/dev/null', ...options.env },
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.input ?? '')
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      if (error.name !== 'AbortError') reject(error)
    })
    child.once('close', (code) => {
      resolve({ code, stdout, stderr })
    })
  })
}

/** Runs kubectl and resolves to what it printed; rejects with its error text where it fails. */
export async function kubectl(args: readonly string[], options: KubectlOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await tryKubectl(args, options)
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')} exited ${String(code)}: ${stderr.trim() || stdout.trim()}`)
  return stdout
}
