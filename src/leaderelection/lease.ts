/**
 * The record of a `coordination.k8s.io/v1` Lease. Source: client-go tools/leaderelection/resourcelock/leaselock.go.
 */
import { fields, textOrEmpty, type Fields } from '../fleet/fields.ts'

export interface LeaseRecord {
  /** Empty: nobody; the last holder let go. */
  readonly holder: string
  /** How long the others wait, by their own clocks, from when they saw the record change. */
  readonly durationSeconds: number
  readonly acquireTime: string
  readonly renewTime: string
  readonly transitions: number
}

/** The object as it was read or answered; what we do not know of it is sent back as it is. */
export interface Lease {
  readonly object: Fields
  readonly record: LeaseRecord
}

export interface LeaseName {
  readonly namespace: string
  readonly name: string
}

/** Missing fields read as nobody's lease of no duration. */
export function leaseFrom(object: Fields): Lease {
  const spec = fields(object['spec'])
  return {
    object,
    record: {
      holder: textOrEmpty(spec, 'holderIdentity'),
      durationSeconds: wholeNumber(spec['leaseDurationSeconds']),
      acquireTime: textOrEmpty(spec, 'acquireTime'),
      renewTime: textOrEmpty(spec, 'renewTime'),
      transitions: wholeNumber(spec['leaseTransitions']),
    },
  }
}

export function newLease({ namespace, name }: LeaseName, record: LeaseRecord): Fields {
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace, name }, spec: specOf(record) }
}

/** The object with another record; its resourceVersion makes the write conditional. */
export function withRecord({ object }: Lease, record: LeaseRecord): Fields {
  return { ...object, spec: { ...fields(object['spec']), ...specOf(record) } }
}

/** `metav1.MicroTime`. `micros` (0 to 999) tells apart what the clock does not. */
export function microTime(nowMs: number, micros: number): string {
  return new Date(nowMs).toISOString().replace('Z', `${String(micros).padStart(3, '0')}Z`)
}

function specOf({ holder, durationSeconds, acquireTime, renewTime, transitions }: LeaseRecord): Fields {
  return {
    holderIdentity: holder,
    leaseDurationSeconds: durationSeconds,
    acquireTime,
    renewTime,
    leaseTransitions: transitions,
  }
}

function wholeNumber(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : 0
}
