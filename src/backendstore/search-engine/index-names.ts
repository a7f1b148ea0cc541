/**
 * Names of an installation's indices in an engine, which it may share with others: one index for each kind and version of
 * the mapping, and the aliases in front of them. No installation touches indices that do not begin with its own name.
 */

/** As part of a name that engines take, without a hyphen, so that no installation's name is the beginning of another's. */
export const INSTALLATION = /^[a-z0-9]{1,32}$/

/** Of the indices of a kind, whoever wrote them: the name by which karmada-search wrote it. For dashboards; never written to. */
export function sharedAlias(kind: string): string {
  return `kubernetes-${kindPart(kind)}`
}

export class IndexNames {
  /** In front of all indices of the installation. */
  readonly all: string
  /** All that begins with it is the installation's. */
  readonly prefix: string

  /** `installation` as `INSTALLATION`. */
  constructor(installation: string) {
    if (!INSTALLATION.test(installation)) throw new TypeError(`no name of an installation: ${installation}`)
    this.all = `fleetsearch-${installation}`
    this.prefix = `${this.all}-`
  }

  /** In front of those of a kind; documents are written through it. */
  alias(kind: string): string {
    return this.prefix + kindPart(kind)
  }

  index(kind: string, version: string): string {
    return `${this.prefix}${version}-${kindPart(kind)}`
  }

  /** The shared alias of one of the installation's indices. */
  shared(index: string): string {
    return sharedAlias(index.slice(this.prefix.length).replace(/^[^-]*-/, ''))
  }

  /** Of the template for all of a version, and of the indices it is for. */
  template(version: string): { readonly name: string; readonly pattern: string } {
    return { name: this.prefix + version, pattern: `${this.prefix}${version}-*` }
  }
}

/** Kinds are letters and digits; a custom resource's could hold a hyphen. */
function kindPart(kind: string): string {
  return kind.toLowerCase().replace(/[^a-z0-9.-]/g, '-')
}
