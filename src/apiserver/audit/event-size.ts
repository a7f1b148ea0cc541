/** Events that are too large lose their bodies. Source: apiserver plugin/pkg/audit/truncate. */
import type { AuditEvent } from './event.ts'

/** The event as `encode` writes it, shortened where it has to be; undefined where even that is too long. */
export function fittingText(
  event: AuditEvent,
  encode: (event: AuditEvent) => string,
  maxBytes: number = Number.POSITIVE_INFINITY,
): string | undefined {
  const whole = encode(event)
  if (Buffer.byteLength(whole) <= maxBytes) return whole
  const { requestObject: _request, responseObject: _response, ...rest } = event
  const annotations = { ...event.annotations, 'audit.k8s.io/truncated': 'true' }
  const shorter = encode({ ...rest, annotations })
  return Buffer.byteLength(shorter) <= maxBytes ? shorter : undefined
}
