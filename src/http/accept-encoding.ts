/** The quality a client gives `coding` in its Accept-Encoding header, 0 where it does not take it. */
export function parseQuality(header: string | string[] | undefined, coding: string): number {
  if (header === undefined) return 0
  let wildcard = 0
  for (const part of (Array.isArray(header) ? header.join(',') : header).split(',')) {
    const [name = '', ...params] = part.split(';').map((text) => text.trim().toLowerCase())
    const quality = qualityOf(params)
    if (name === coding) return quality
    if (name === '*') wildcard = quality
  }
  return wildcard
}

function qualityOf(params: readonly string[]): number {
  const text = params.find((param) => param.startsWith('q='))?.slice(2)
  const quality = text === undefined ? 1 : Number(text)
  return Number.isNaN(quality) ? 1 : quality
}
