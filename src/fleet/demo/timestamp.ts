/** `metav1.Time`: RFC 3339 in UTC, whole seconds. */
export function rfc3339(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

/** `metav1.MicroTime`: RFC 3339 in UTC with six digits, as Leases and Events carry it. */
export function rfc3339Micro(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`
}
