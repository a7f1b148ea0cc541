/** Keys of registries in etcd, where an existing karmada-search has them. */

export interface Keys {
  /** Every registry's key begins with it. */
  readonly prefix: string
  /** The first key behind all of them. */
  readonly end: string
  /** Where nothing is; read to see whether etcd answers, as a kube-apiserver does. */
  readonly health: string
  keyOf(name: string): string
  /** Undefined for a key that is no registry's. */
  nameOf(key: string): string | undefined
}

/** `prefix` is that of `--etcd-prefix`; slashes at its ends make no difference, as for a kube-apiserver. */
export function registryKeys(prefix: string): Keys {
  const root = prefix.split('/').filter((part) => part !== '')
  const folder = `/${[...root, 'search.karmada.io', 'resourceRegistries'].join('/')}/`
  return {
    prefix: folder,
    end: endOf(folder),
    health: `/${[...root, 'health'].join('/')}`,
    keyOf: (name) => folder + name,
    nameOf(key) {
      const name = key.startsWith(folder) ? key.slice(folder.length) : ''
      return name === '' || name.includes('/') ? undefined : name
    },
  }
}

/** Every note's key begins with it; karmada-search has nothing there. */
export function notesFolder(prefix: string): string {
  const root = prefix.split('/').filter((part) => part !== '')
  return `/${[...root, 'search.karmada.io', 'fleetsearch'].join('/')}/`
}

/** The first key behind all that begin with a folder: '0' is the byte behind '/'. */
export function endOf(folder: string): string {
  return `${folder.slice(0, -1)}0`
}
