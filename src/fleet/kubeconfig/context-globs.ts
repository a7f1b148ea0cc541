/** Which contexts are members: `prod-*`, `*,!*-old`. `*` is any text (slashes too: EKS names have them), `?` one character. */
export function contextFilter(globs: readonly string[]): (name: string) => boolean {
  const include = globs.filter((glob) => !glob.startsWith('!')).map(toPattern)
  const exclude = globs.filter((glob) => glob.startsWith('!')).map((glob) => toPattern(glob.slice(1)))
  return (name) =>
    (include.length === 0 || include.some((pattern) => pattern.test(name))) &&
    !exclude.some((pattern) => pattern.test(name))
}

function toPattern(glob: string): RegExp {
  const source = glob
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
  return new RegExp(`^${source}$`, 's')
}
