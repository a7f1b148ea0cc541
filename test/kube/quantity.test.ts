import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Quantity } from '../../src/kube/quantity.ts'
import {
  compareQuantities,
  formatQuantity,
  parseQuantity,
  quantityIn,
  quantityToNumber,
} from '../../src/kube/quantity.ts'
import { titleOf, vectorsOf } from './apimachinery.ts'

function quantity(text: string): Quantity {
  const parsed = parseQuantity(text)
  assert.ok(parsed !== undefined, text)
  return parsed
}

/** A decimal without needless zeros: `-0.10` as `-0.1`. */
function plain(decimal: string): string {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)0*([0-9]*)\.?([0-9]*?)0*$/.exec(decimal) ?? []
  const digits = `${whole === '' ? '0' : whole}${fraction === '' ? '' : `.${fraction}`}`
  return digits === '0' ? '0' : `${sign}${digits}`
}

function decimalOf({ mantissa, exponent }: Quantity): string {
  const digits = `${mantissa < 0n ? -mantissa : mantissa}${'0'.repeat(Math.max(0, exponent))}`
  const padded = digits.padStart(1 - exponent, '0')
  const point = padded.length + Math.min(0, exponent)
  return plain(`${mantissa < 0n ? '-' : ''}${padded.slice(0, point)}.${padded.slice(point)}`)
}

describe('quantities are what Kubernetes makes of them', () => {
  for (const { text, error, printed, value } of vectorsOf('quantity')) {
    if (error !== '') {
      test(`refuses ${titleOf(text)}`, () => {
        assert.equal(parseQuantity(text), undefined)
      })
    } else {
      test(`reads ${titleOf(text)}`, () => {
        assert.equal(decimalOf(quantity(text)), plain(value.replace(/^(-?)$/, '0')))
        assert.equal(formatQuantity(quantity(text)), printed)
      })
    }
  }
})

const written = fc
  .tuple(
    fc.constantFrom('', '-', '+'),
    fc.stringMatching(/^[0-9]{1,20}(\.[0-9]{0,12})?$/),
    fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei', 'e3', 'E-4'),
  )
  .map((parts) => parts.join(''))

describe('quantities', () => {
  test('printing loses nothing', () => {
    fc.assert(
      fc.property(written, (text) => {
        const parsed = quantity(text)
        assert.equal(compareQuantities(quantity(formatQuantity(parsed)), parsed), 0)
      }),
    )
  })

  test('compare as exact numbers, whatever their suffixes', () => {
    fc.assert(
      fc.property(written, written, (a, b) => {
        const difference = (quantityIn(quantity(a), -9) ?? 0n) - (quantityIn(quantity(b), -9) ?? 0n)
        const sign = difference === 0n ? 0 : difference < 0n ? -1 : 1
        assert.equal(Math.sign(compareQuantities(quantity(a), quantity(b))), sign)
      }),
    )
    assert.equal(compareQuantities(quantity('1Ki'), quantity('1024')), 0)
    assert.ok(compareQuantities(quantity('9007199254740993'), quantity('9007199254740992')) > 0)
    assert.ok(compareQuantities(quantity('-1'), quantity('1m')) < 0)
    assert.ok(compareQuantities(quantity('-2'), quantity('-1')) < 0)
  })

  test('with enormous exponents cost nothing', () => {
    assert.ok(compareQuantities(quantity('1e2000000000'), quantity('9e1999999999')) > 0)
    assert.equal(formatQuantity(quantity('1e-2000000000')), '1e-9')
    assert.equal(quantityIn(quantity('1e2000000000'), 0), undefined)
    assert.equal(quantityToNumber(quantity('1e2000000000')), Infinity)
    assert.equal(parseQuantity('1e99999999999'), undefined)
    assert.equal(parseQuantity('9'.repeat(2_000)), undefined)
  })

  test('need a digit, where Go takes a suffix alone for zero', () => {
    for (const text of ['', '+', '.', 'Ki', 'm', 'e3', '-M']) assert.equal(parseQuantity(text), undefined, text)
  })

  test('print beyond exa with an exponent, where Go prints the wrong number', () => {
    assert.equal(formatQuantity(quantity('1000E')), '1e21')
  })

  test('in a unit round away from zero', () => {
    assert.equal(quantityIn(quantity('1500m'), 0), 2n)
    assert.equal(quantityIn(quantity('-1500m'), 0), -2n)
    assert.equal(quantityIn(quantity('1n'), -3), 1n)
    assert.equal(quantityIn(quantity('250m'), -3), 250n)
    assert.equal(quantityIn(quantity('16Gi'), 0), 17_179_869_184n)
    assert.equal(quantityIn(quantity('0'), 0), 0n)
  })

  test('as numbers', () => {
    assert.equal(quantityToNumber(quantity('1500m')), 1.5)
    assert.equal(quantityToNumber(quantity('-1Ki')), -1024)
  })
})
