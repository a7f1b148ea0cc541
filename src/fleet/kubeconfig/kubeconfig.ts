/**
 * Reads kubeconfig files as kubectl does: several merge (what comes first wins), paths inside are relative to their file,
 * embedded data goes before files. Source: client-go tools/clientcmd loader.go and api/v1 types.
 */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { parse } from 'yaml'
import { MemberError } from '../member-error.ts'
import { fields, fieldsList, flag, named, text, textLists, texts, type Fields } from '../fields.ts'

/** Where a file stands in for data, it is read anew whenever credentials are. */
export interface KubeCluster {
  readonly server: string
  readonly caData?: string
  readonly caFile?: string
  readonly insecureSkipVerify: boolean
  readonly serverName?: string
  readonly proxyUrl?: string
  readonly disableCompression: boolean
  /** `config` of the extension `client.authentication.k8s.io/exec`, for exec plugins. */
  readonly execConfig?: unknown
}

export interface KubeUser {
  readonly certData?: string
  readonly certFile?: string
  readonly keyData?: string
  readonly keyFile?: string
  readonly token?: string
  readonly tokenFile?: string
  readonly username?: string
  readonly password?: string
  readonly impersonate?: string
  readonly impersonateGroups: readonly string[]
  readonly impersonateUid?: string
  readonly impersonateExtra: Readonly<Record<string, readonly string[]>>
  readonly exec?: KubeExec
  /** `{name, config}`; the old in-tree plugins (oidc, azure, gcp). */
  readonly authProvider?: Fields
}

export interface KubeExec {
  readonly apiVersion: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly installHint: string
  readonly provideClusterInfo: boolean
  readonly interactiveMode: string
}

export interface KubeContext {
  readonly name: string
  readonly cluster: KubeCluster
  readonly clusterName: string
  readonly user: KubeUser
  readonly userName: string
}

export interface Kubeconfig {
  /** Contexts whose cluster exists, in file order. */
  readonly contexts: readonly KubeContext[]
  readonly currentContext: string
  /** Contexts left out, each with the reason. */
  readonly faults: readonly string[]
}

const NO_USER: KubeUser = { impersonateGroups: [], impersonateExtra: {} }

/**
 * Of several files those that do not exist are left out, as long as one does. Rejects with a `MemberError` of code `auth`
 * that names the file which cannot be read.
 */
export async function loadKubeconfig(files: readonly string[]): Promise<Kubeconfig> {
  const loaded: { readonly file: string; readonly text: string }[] = []
  let failure: unknown
  for (const file of files) {
    try {
      loaded.push({ file, text: await readFile(file, 'utf8') })
    } catch (error) {
      failure ??= error
    }
  }
  if (loaded.length === 0) {
    throw new MemberError('auth', `no kubeconfig could be read: ${files.join(', ')}`, { cause: failure })
  }
  return mergeKubeconfigs(loaded)
}

/** Throws a `MemberError` of code `auth` where a text is not YAML. */
export function mergeKubeconfigs(files: readonly { readonly file: string; readonly text: string }[]): Kubeconfig {
  const clusters = new Map<string, KubeCluster>()
  const users = new Map<string, KubeUser>()
  const contexts = new Map<string, Fields>()
  let currentContext = ''
  for (const { file, text: content } of files) {
    const document = fields(parseYaml(file, content))
    const folder = path.dirname(path.resolve(file))
    for (const [name, entry] of named(document, 'clusters', 'cluster'))
      addFirst(clusters, name, clusterOf(entry, folder))
    for (const [name, entry] of named(document, 'users', 'user')) addFirst(users, name, userOf(entry, folder))
    for (const [name, entry] of named(document, 'contexts', 'context')) addFirst(contexts, name, entry)
    currentContext ||= text(document, 'current-context') ?? ''
  }
  return { currentContext, ...joined(contexts, clusters, users) }
}

function joined(
  contexts: ReadonlyMap<string, Fields>,
  clusters: ReadonlyMap<string, KubeCluster>,
  users: ReadonlyMap<string, KubeUser>,
): Pick<Kubeconfig, 'contexts' | 'faults'> {
  const found: KubeContext[] = []
  const faults: string[] = []
  for (const [name, entry] of contexts) {
    const clusterName = text(entry, 'cluster') ?? ''
    const userName = text(entry, 'user') ?? ''
    const cluster = clusters.get(clusterName)
    const user = userName === '' ? NO_USER : users.get(userName)
    if (cluster === undefined) faults.push(`context ${name}: no cluster ${JSON.stringify(clusterName)}`)
    else if (user === undefined) faults.push(`context ${name}: no user ${JSON.stringify(userName)}`)
    else found.push({ name, cluster, clusterName, user, userName })
  }
  return { contexts: found, faults }
}

function clusterOf(entry: Fields, folder: string): KubeCluster {
  const caData = text(entry, 'certificate-authority-data')
  const caFile = text(entry, 'certificate-authority')
  const extension = named(entry, 'extensions', 'extension').find(
    ([name]) => name === 'client.authentication.k8s.io/exec',
  )
  return {
    server: text(entry, 'server') ?? '',
    insecureSkipVerify: flag(entry, 'insecure-skip-tls-verify'),
    disableCompression: flag(entry, 'disable-compression'),
    ...(caData === undefined ? {} : { caData }),
    ...(caFile === undefined ? {} : { caFile: path.resolve(folder, caFile) }),
    ...defined('serverName', text(entry, 'tls-server-name')),
    ...defined('proxyUrl', text(entry, 'proxy-url')),
    ...(extension === undefined ? {} : { execConfig: extension[1] }),
  }
}

function userOf(entry: Fields, folder: string): KubeUser {
  const file = (key: string): string | undefined => {
    const value = text(entry, key)
    return value === undefined ? undefined : path.resolve(folder, value)
  }
  const exec = entry.exec === undefined || entry.exec === null ? undefined : execOf(fields(entry.exec), folder)
  const provider = entry['auth-provider']
  return {
    ...defined('certData', text(entry, 'client-certificate-data')),
    ...defined('certFile', file('client-certificate')),
    ...defined('keyData', text(entry, 'client-key-data')),
    ...defined('keyFile', file('client-key')),
    ...defined('token', text(entry, 'token')),
    ...defined('tokenFile', file('tokenFile')),
    ...defined('username', text(entry, 'username')),
    ...defined('password', text(entry, 'password')),
    ...defined('impersonate', text(entry, 'as')),
    impersonateGroups: texts(entry, 'as-groups'),
    ...defined('impersonateUid', text(entry, 'as-uid')),
    impersonateExtra: textLists(entry, 'as-user-extra'),
    ...(exec === undefined ? {} : { exec }),
    ...(provider === undefined || provider === null ? {} : { authProvider: fields(provider) }),
  }
}

function execOf(entry: Fields, folder: string): KubeExec {
  const command = text(entry, 'command') ?? ''
  return {
    apiVersion: text(entry, 'apiVersion') ?? '',
    // A bare name is looked up in PATH; anything with a slash is relative to the file.
    command: command.includes('/') || command.includes('\\') ? path.resolve(folder, command) : command,
    args: texts(entry, 'args'),
    env: Object.fromEntries(
      fieldsList(entry, 'env').map((pair) => [text(pair, 'name') ?? '', text(pair, 'value') ?? '']),
    ),
    installHint: text(entry, 'installHint') ?? '',
    provideClusterInfo: flag(entry, 'provideClusterInfo'),
    interactiveMode: text(entry, 'interactiveMode') ?? '',
  }
}

function parseYaml(file: string, content: string): unknown {
  try {
    return parse(content, { logLevel: 'error' })
  } catch (error) {
    // Without the parser's own message: it quotes the line, which may be a token.
    const { line } = (error as { linePos?: readonly [{ line: number }] }).linePos?.[0] ?? { line: 0 }
    throw new MemberError('auth', `${file} is not YAML${line === 0 ? '' : ` (line ${line})`}`)
  }
}

function addFirst<V>(map: Map<string, V>, name: string, value: V): void {
  if (!map.has(name)) map.set(name, value)
}

function defined<K extends string>(key: K, value: string | undefined): { readonly [P in K]?: string } {
  return value === undefined || value === '' ? {} : ({ [key]: value } as { readonly [P in K]?: string })
}
