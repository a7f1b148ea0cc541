import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { dnsLabelFaults, dnsSubdomainFaults, labelKeyFaults, labelValueFaults } from '../../src/kube/label-syntax.ts'

const long = (length: number): string => 'a'.repeat(length)

describe('names as Kubernetes has them', () => {
  test('DNS labels: those of namespaces', () => {
    for (const name of ['a', '1', 'a-b', '1a', long(63)]) assert.deepEqual(dnsLabelFaults(name), [], name)
    for (const name of ['', '-a', 'a-', 'A', 'a_b', 'a/b', 'é', 'a b'])
      assert.equal(dnsLabelFaults(name).length, 1, name)
    assert.deepEqual(dnsLabelFaults('a.b'), ['must not contain dots'])
    assert.deepEqual(dnsLabelFaults(long(64)), ['must be no more than 63 bytes'])
    assert.match(dnsLabelFaults('Bad_NS')[0] ?? '', /^a lowercase RFC 1123 label must consist of lower case/)
  })

  test('DNS subdomains: those of most objects', () => {
    for (const name of ['a', 'a.b', '1.2.3', 'a-b.c', long(253)]) assert.deepEqual(dnsSubdomainFaults(name), [], name)
    for (const name of ['', '.a', 'a.', 'a..b', 'A.b', 'a_b', 'a.-b']) {
      assert.equal(dnsSubdomainFaults(name).length, 1, name)
    }
    assert.deepEqual(dnsSubdomainFaults(long(254)), ['must be no more than 253 bytes'])
  })

  test('label keys: a name, with a DNS subdomain before it or without', () => {
    for (const key of ['a', 'A_b.c-1', 'example.com/a', `${long(253)}/a`, long(63)]) {
      assert.deepEqual(labelKeyFaults(key), [], key)
    }
    for (const key of ['', '/', '/a', 'a/', 'a/b/c', '_a', 'A.b/c', 'a b', `${long(254)}/a`, long(64), 'é']) {
      assert.notDeepEqual(labelKeyFaults(key), [], key)
    }
    assert.equal(labelKeyFaults('/').length, 3)
  })

  test('label values: such a name or nothing', () => {
    for (const value of ['', 'a', 'A_b.c-1', long(63)]) assert.deepEqual(labelValueFaults(value), [], value)
    for (const value of ['-', '_a', 'a/b', 'a b', 'é', '\n']) assert.equal(labelValueFaults(value).length, 1, value)
    assert.deepEqual(labelValueFaults(long(64)), ['must be no more than 63 bytes'])
    assert.equal(labelValueFaults('é'.repeat(32)).length, 2, 'bytes count, not characters')
  })
})
