import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { STATUS_CODES as HTTP } from 'node:http'
import { describe, test } from 'node:test'
import { statusFrom } from '../../src/kube/status-body.ts'
import {
  StatusError,
  STATUS_CODES,
  badRequest,
  expired,
  isStatusError,
  notFound,
  notImplemented,
} from '../../src/kube/status-error.ts'

describe('StatusError', () => {
  test('is a Status on the wire', () => {
    const error = new StatusError('forbidden', 'no', { details: { name: 'a', kind: 'pods' } })
    assert.deepEqual(error.toStatus(), {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'no',
      reason: 'Forbidden',
      details: { name: 'a', kind: 'pods' },
      code: 403,
    })
    assert.equal(error.http, 403)
  })

  test('keeps its cause, and no cause where there is none', () => {
    const cause = new Error('socket closed')
    assert.equal(new StatusError('internal', 'x', { cause }).cause, cause)
    assert.equal('cause' in new StatusError('internal', 'x'), false)
  })

  test('not found names the resource as a kube-apiserver does', () => {
    const error = notFound({ group: 'apps', resource: 'deployments' }, 'web"1')
    assert.equal(error.message, 'deployments.apps "web\\"1" not found')
    assert.deepEqual(error.details, { name: 'web"1', group: 'apps', kind: 'deployments' })
    assert.equal(notFound({ group: '', resource: 'pods' }, 'web').message, 'pods "web" not found')
    assert.deepEqual(notFound({ group: '', resource: 'pods' }, 'web').details, { name: 'web', kind: 'pods' })
  })

  test('410 carries a continue token where there is one', () => {
    assert.deepEqual(expired('old', 'X').toStatus().metadata, { continue: 'X' })
    assert.deepEqual(expired('old').toStatus().metadata, {})
    assert.equal(expired('old').http, 410)
  })

  test('is told apart by its code, never by its text', () => {
    assert.equal(isStatusError(badRequest('x')), true)
    assert.equal(isStatusError(badRequest('x'), 'badRequest'), true)
    assert.equal(isStatusError(badRequest('x'), 'notFound'), false)
    assert.equal(isStatusError(notImplemented('x'), 'notImplemented'), true)
    assert.equal(isStatusError(new Error('BadRequest')), false)
  })
})

describe('the table of codes', () => {
  test('has HTTP statuses that exist and a meaning for each', () => {
    for (const [code, { http, reason, meaning }] of Object.entries(STATUS_CODES)) {
      assert.ok(http >= 400 && HTTP[http] !== undefined, code)
      assert.match(reason, /^[A-Z][A-Za-z]+$/, code)
      assert.match(meaning, /\.$/, code)
    }
  })

  test('has each reason once', () => {
    const reasons = Object.values(STATUS_CODES).map(({ reason }) => reason)
    assert.equal(new Set(reasons).size, reasons.length)
  })

  test('is docs/errors.md', () => {
    const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
    const rows = [...page.matchAll(/^\| `(\w+)` *\| (\d+) *\| (\w+) *\| (.*?) *\|$/gm)].map(([, ...cells]) => cells)
    assert.deepEqual(
      rows,
      Object.entries(STATUS_CODES).map(([code, row]) => [code, String(row.http), row.reason, row.meaning]),
    )
  })
})

describe('statusFrom', () => {
  test('reads what toStatus wrote', () => {
    const status = new StatusError('invalid', 'bad', {
      details: {
        name: 'a',
        group: 'b',
        kind: 'c',
        uid: 'd',
        retryAfterSeconds: 3,
        causes: [{ reason: 'FieldValueInvalid', message: 'm', field: 'spec.a' }],
      },
      continueToken: 'X',
    }).toStatus()
    assert.deepEqual(statusFrom(JSON.parse(JSON.stringify(status))), status)
  })

  test('leaves out what is of another type', () => {
    assert.deepEqual(statusFrom({ kind: 'Status', message: 7, details: { causes: [1, { message: 2 }] }, code: 'x' }), {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      details: { causes: [{ message: '' }] },
      code: 500,
    })
  })

  test('takes nothing else for a Status', () => {
    for (const value of [null, undefined, 'Status', [], {}, { kind: 'Pod' }]) assert.equal(statusFrom(value), undefined)
  })
})
