import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pod, startHarness } from './harness.ts'
import { faultCode } from '../../src/informer/reflector-error.ts'

const many = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => pod(`web-${String(index + from).padStart(5, '0')}`))

test('lists in pages, then follows the watch', async () => {
  await using h = await startHarness({ member: { objects: many(1_200) } })
  h.run()
  await h.synced()
  assert.equal(h.lists(), 3)
  assert.equal(h.store.objects.size, 1_200)
  assert.equal(h.store.version, h.member.version)

  h.member.put(pod('new'))
  h.member.update('Pod', 'default', 'web-00000', (object) => ({ ...object, status: { phase: 'Failed' } }))
  h.member.delete('Pod', 'default', 'web-00001')
  h.store.events.length = 0
  await h.until(() => h.store.events.length === 3)
  assert.deepEqual(h.store.events, ['ADDED default/new', 'MODIFIED default/web-00000', 'DELETED default/web-00001'])
  assert.deepEqual(h.errors, [])
})

test('nothing outlives the stop', async () => {
  const h = await startHarness({ member: { objects: many(3) } })
  h.run()
  await h.synced()
  await h.stop()
  await h.until(() => h.member.watches().length === 0)
  await h.member.close()
  assert.equal(h.clock.pending, 0)
})

test('A5: a continue token that expires on page 3 leads to one whole list, without deletes of unread objects', async () => {
  await using h = await startHarness({ member: { objects: many(1_500) } })
  h.member.misbehave({
    on: { resource: 'pods', where: ({ url }) => url.includes('continue=') && h.lists() === 3 },
    times: 1,
    fault: { type: 'status', code: 410, continueToken: 'X' },
  })
  h.run()
  await h.synced()
  assert.equal(h.store.objects.size, 1_500)
  assert.equal(h.store.added, 1_500, 'each object once')
  assert.equal(h.store.events.length, 1_500)
  assert.equal(h.store.replacements, 1)
  assert.equal(h.lists(), 4)
  assert.deepEqual(h.errors, [])
})

test('a list whose pages lead back to one another is reported and tried more and more slowly, not read for ever', async () => {
  await using h = await startHarness({ member: { objects: [pod('a')] } })
  const page = (next: string): string =>
    `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"${next}"},"items":[]}`
  const lift = [
    h.member.misbehave({ on: { path: /continue=one/ }, fault: { type: 'body', text: page('two') } }),
    h.member.misbehave({ on: { path: /pods/ }, fault: { type: 'body', text: page('one') } }),
  ]
  h.run()
  await h.until(() => h.errors.length === 1)
  assert.deepEqual(h.codes(), ['malformed'])
  assert.equal(h.lists(), 3)
  await h.elapseUntil(() => h.errors.length === 4)
  assert.ok(h.lists() <= 12)
  lift.forEach((undo) => undo())
  await h.elapseUntil(() => h.store.objects.size === 1)
})

test('G1: after a 410, as HTTP status or as ERROR event, it lists again and tells the difference', async () => {
  for (const form of ['status', 'event'] as const) {
    await using h = await startHarness({ member: { objects: [pod('gone'), pod('stays')] } })
    h.run()
    await h.synced()
    h.store.events.length = 0
    h.member.misbehave({
      on: { resource: 'pods', watch: true },
      times: 1,
      fault: form === 'status' ? { type: 'status', code: 410 } : { type: 'errorEvent', code: 410 },
    })
    h.member.endWatches()
    h.member.delete('Pod', 'default', 'gone')
    h.member.put(pod('new'))
    await h.elapseUntil(() => h.store.replacements === 2)
    assert.deepEqual(h.store.events.toSorted(), ['ADDED default/new', 'DELETED default/gone'], form)
    await h.synced()
    assert.equal(h.lists(), 2)
  }
})

test('G1: an ERROR 500 in the stream is resumed from where it stood, without another list', async () => {
  await using h = await startHarness({ member: { objects: [pod('a')] } })
  h.run()
  await h.synced()
  h.member.misbehave({ on: { watch: true }, times: 2, fault: { type: 'errorEvent', code: 500 } })
  await h.endWatch()
  h.member.put(pod('b'))
  await h.elapseUntil(() => h.store.objects.size === 2)
  assert.equal(h.lists(), 1)
  assert.deepEqual(h.codes(), ['serverError', 'serverError'])
})

test('G1: 410 again after each relist is answered more and more slowly', async () => {
  await using h = await startHarness({ member: { objects: [pod('a')] } })
  h.member.misbehave({ on: { watch: true }, times: 5, fault: { type: 'status', code: 410 } })
  h.run()
  await h.elapseUntil(() => h.store.phase === 'watching')
  assert.deepEqual(h.codes(), Array(5).fill('expired'))
  const waits = h.errors.map(({ waitMs }) => waitMs)
  assert.ok(
    waits.every((wait, index) => wait >= 800 * 2 ** index && wait < 1_600 * 2 ** index),
    waits.join(' '),
  )
  const early = h.errors.filter(({ atMs }) => atMs <= 10_000).length
  assert.ok(early <= 4, `${early} failures in the first 10 s`)
  assert.equal(h.lists(), 6)
  assert.deepEqual(h.store.events, ['ADDED default/a'])
})

test('after a watch that lived ten seconds, the next failure waits the shortest time again', async () => {
  await using h = await startHarness({ member: { objects: [pod('a')] } })
  const expire = (times: number) =>
    h.member.misbehave({ on: { watch: true }, times, fault: { type: 'status', code: 410 } })
  expire(3)
  h.run()
  await h.elapseUntil(() => h.store.phase === 'watching')
  await h.elapse(12_000)
  expire(1)
  h.member.endWatches('pods')
  await h.elapseUntil(() => h.errors.length === 4)
  const waits = h.errors.map(({ waitMs }) => waitMs)
  assert.ok((waits[2] ?? 0) >= 3_200 && (waits[3] ?? Infinity) < 1_600, waits.join(' '))
})

test('G2: a watch that falls silent is noticed within the bound, and no change is lost', async () => {
  await using h = await startHarness({ member: { objects: [pod('a')] }, source: { silenceMs: 90_000 } })
  h.run()
  await h.synced()
  h.member.bookmark()
  await h.until(() => h.store.bookmarks === 1)
  // From now on the server is known to send bookmarks: with the next watch silence means something.
  h.member.endWatches()
  await h.until(() => h.watchRequests() === 2)
  await h.synced()
  h.member.holdWatches()
  for (const name of ['b', 'c', 'd']) h.member.put(pod(name))
  const startMs = h.clock.monotonicMs()
  await h.elapseUntil(() => h.store.objects.size === 4, 1_000)
  const tookMs = h.clock.monotonicMs() - startMs
  assert.ok(tookMs <= 93_000, `${tookMs} ms`)
  assert.equal(h.lists(), 1)
  assert.deepEqual(h.codes(), ['timeout'])
})

test('G2: where bookmarks never come, the end that the server promised is waited for, and not much longer', async () => {
  await using h = await startHarness({ member: { objects: [pod('a')], bookmarkIntervalMs: 86_400_000 } })
  h.run()
  await h.synced()
  h.member.holdWatches()
  h.member.put(pod('b'))
  const startMs = h.clock.monotonicMs()
  await h.elapseUntil(() => h.store.objects.size === 2, 1_000)
  assert.ok(h.clock.monotonicMs() - startMs <= 120_000 + 15_000 + 3_000)
})

test('G2: a server or proxy that ends the watch cleanly every 30 s costs no list, no error and no event', async () => {
  await using h = await startHarness({ member: { objects: many(5) } })
  h.run()
  await h.synced()
  h.store.events.length = 0
  for (let round = 1; round <= 5; round++) {
    await h.elapse(30_000)
    h.member.endWatches()
    await h.until(() => h.watchRequests() === round + 1)
    await h.synced()
  }
  assert.equal(h.lists(), 1)
  assert.deepEqual(h.errors, [])
  assert.deepEqual(h.store.events, [])
})

test('G3: a first list that fails three ways is tried until it succeeds', async () => {
  await using h = await startHarness({ member: { objects: many(2) } })
  const list = { resource: 'pods', watch: false }
  h.member.misbehave({ on: list, times: 1, fault: { type: 'stall' } })
  h.member.misbehave({ on: list, times: 1, fault: { type: 'status', code: 500 } })
  h.member.misbehave({ on: list, times: 1, fault: { type: 'body', text: '{"kind":"PodList","items":[{"metadata":' } })
  h.run()
  await h.elapseUntil(() => h.store.phase === 'watching', 1_000)
  assert.deepEqual(h.codes(), ['timeout', 'serverError', 'truncated'])
  assert.equal(h.store.objects.size, 2)
})

test('G3: cut connections leave exactly one live watch and emit nothing for unchanged objects', async () => {
  await using h = await startHarness({ member: { objects: many(5) } })
  h.run()
  await h.synced()
  h.store.events.length = 0
  for (let round = 0; round < 5; round++) {
    h.member.cutWatches('pods', '{"type":"ADDED","object":{"metadata"')
    await h.elapseUntil(() => h.watchRequests() === round + 2)
    await h.synced()
  }
  assert.equal(h.member.watches('pods').length, 1)
  assert.equal(h.watchRequests(), 6)
  assert.equal(h.lists(), 1)
  assert.deepEqual(h.store.events, [])
})

test('G6: an event in many pieces, split inside a character, two in one piece, and one of 3 MiB', async () => {
  await using h = await startHarness()
  h.member.misbehave({ on: { watch: true }, fault: { type: 'split', bytes: 7 } })
  h.run()
  await h.synced()
  h.member.put(pod('a', { metadata: { name: 'a', namespace: 'default', annotations: { text: '漢字🙂'.repeat(20) } } }))
  h.member.put(pod('b'))
  await h.until(() => h.store.objects.size === 2)
  const a = h.store.objects.get('default/a') as { metadata: { annotations?: Record<string, string> } } | undefined
  assert.equal(a?.metadata.annotations?.text, '漢字🙂'.repeat(20))

  h.member.behave()
  h.member.endWatches()
  await h.elapseUntil(() => h.watchRequests() === 2)
  await h.synced()
  h.member.put(pod('big', { data: 'x'.repeat(3 * 1024 * 1024) }))
  await h.until(() => h.store.objects.size === 3)
  assert.deepEqual(h.errors, [])
})

test('G6: half an event and then the end is no event; the whole one comes with the next watch', async () => {
  await using h = await startHarness()
  h.run()
  await h.synced()
  h.member.holdWatches()
  h.member.put(pod('a'))
  h.member.cutWatches('pods', '{"type":"ADDED","object":{"metadata":{"name":"po')
  await h.elapseUntil(() => h.store.objects.size === 1)
  assert.deepEqual(h.store.events, ['ADDED default/a'])
  assert.equal(h.lists(), 1)
})

test('G6: a blank line is nothing, and a Status without type is the error it says', async () => {
  await using h = await startHarness({ member: { objects: [pod('a')] } })
  const status = '{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}'
  h.member.misbehave({ on: { watch: true }, times: 1, fault: { type: 'body', text: `\n\n${status}\n` } })
  h.run()
  await h.elapseUntil(() => h.store.replacements === 2)
  assert.deepEqual(h.codes(), ['expired'])
})

test('one object that is none is reported and left out; the others are served', async () => {
  await using h = await startHarness()
  const items = '{"metadata":{"name":"a","namespace":"default","resourceVersion":"5"}},{"spec":{}}'
  const list = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[${items}]}`
  h.member.misbehave({ on: { watch: false }, fault: { type: 'body', text: list } })
  const event = (object: string): string => `{"type":"ADDED","object":${object}}\n`
  const b = '{"metadata":{"name":"b","namespace":"default","resourceVersion":"11"}}'
  h.member.misbehave({ on: { watch: true }, times: 1, fault: { type: 'body', text: event('{"spec":1}') + event(b) } })
  h.run()
  await h.until(() => h.store.objects.size === 2)
  assert.deepEqual(h.store.names(), ['default/a', 'default/b'])
  assert.deepEqual(
    h.errors.slice(0, 2).map(({ waitMs }) => waitMs),
    [0, 0],
  )
})

test('429 waits as long as it was told, on a page of a list and on a watch', async () => {
  await using h = await startHarness({ member: { objects: many(1_200) } })
  const busy = { type: 'status', code: 429, retryAfterSeconds: 7 } as const
  h.member.misbehave({ on: { watch: false, where: () => h.lists() === 2 }, times: 1, fault: busy })
  h.run()
  await h.until(() => h.lists() === 2)
  await h.elapse(6_900, 100)
  assert.equal(h.lists(), 2)
  await h.elapseUntil(() => h.store.phase === 'watching')
  assert.equal(h.lists(), 4, 'the page alone was asked for again')
  assert.deepEqual(h.errors, [])

  h.member.misbehave({ on: { watch: true }, times: 1, fault: busy })
  await h.endWatch()
  await h.until(() => h.codes().length === 1)
  assert.deepEqual(
    h.errors.map(({ error, waitMs }) => [(error as { code?: string }).code, waitMs]),
    [['throttled', 7_000]],
  )
  await h.elapseUntil(() => h.store.phase === 'watching')
  assert.equal(h.lists(), 4)
})

test('a connection that breaks on a later page costs that page, not the list', async () => {
  await using h = await startHarness({ member: { objects: many(1_500) }, client: { compress: false } })
  h.member.misbehave({
    on: { watch: false, where: () => h.lists() >= 2 },
    times: 1,
    fault: { type: 'cutAfter', bytes: 40_000 },
  })
  h.run()
  await h.elapseUntil(() => h.store.phase === 'watching')
  assert.equal(h.store.added, 1_500, 'no object twice')
  assert.equal(h.store.objects.size, 1_500)
  assert.equal(h.lists(), 4)
})

test('a refusal is told and asked again more and more slowly, never in a storm', async () => {
  for (const [code, reason] of [
    [403, 'forbidden'],
    [404, 'notFound'],
    [401, 'unauthorized'],
  ] as const) {
    await using h = await startHarness({ member: { objects: [pod('a')] } })
    const lift = h.member.misbehave({
      on: { resource: 'pods' },
      fault: { type: 'status', code, message: 'no, not you' },
    })
    h.run()
    await h.elapse(3_600_000, 10_000)
    assert.ok(h.lists() >= 6 && h.lists() <= 20, `${h.lists()} lists in an hour of ${code}`)
    const state = h.store.states.at(-1)
    assert.deepEqual([state?.phase, state?.phase === 'failing' && state.code], ['failing', reason])
    assert.match(state?.phase === 'failing' ? state.message : '', /member1\/v1\/pods: \d+ no, not you/)
    lift()
    await h.elapseUntil(() => h.store.objects.size === 1, 10_000)
  }
})

test('a member that is killed and comes back is resumed without a list; nothing lost, nothing doubled', async () => {
  await using h = await startHarness({ member: { objects: many(3) } })
  h.run()
  await h.synced()
  h.store.events.length = 0
  await h.member.stop()
  h.member.put(pod('meanwhile'))
  await h.elapse(30_000)
  assert.ok(h.errors.length >= 3 && h.errors.length <= 8, `${h.errors.length} tries in 30 s`)
  await h.member.start()
  await h.elapseUntil(() => h.store.objects.size === 4)
  assert.deepEqual(h.store.events, ['ADDED default/meanwhile'])
  assert.equal(h.lists(), 1)
})

test('C4: a member that comes back without its history is listed anew, not waited for', async () => {
  await using h = await startHarness({ member: { objects: many(3), startVersion: 5_000 } })
  h.run()
  await h.synced()
  h.store.events.length = 0
  await h.member.restartEmpty(1)
  h.member.put(pod('new'))
  await h.elapseUntil(() => h.store.objects.has('default/new'))
  assert.deepEqual(h.store.names(), ['default/new'])
  assert.equal(h.store.events.filter((event) => event.startsWith('DELETED')).length, 3)
  assert.ok(h.codes().includes('regressed'), h.codes().join(' '))
})

test('C4: after a long outage, a lost history is listed anew at once', async () => {
  await using h = await startHarness({ member: { objects: many(3), startVersion: 5_000 } })
  h.run()
  await h.synced()
  await h.member.stop()
  await h.elapse(120_000)
  await h.member.restartEmpty(1)
  h.member.put(pod('new'))
  await h.elapseUntil(() => h.store.objects.has('default/new'))
  const regressed = h.errors.find(({ error }) => faultCode(error) === 'regressed')
  assert.ok(regressed !== undefined && regressed.waitMs <= 2_000, `waited ${regressed?.waitMs} ms before the list`)
})

test('a watch that ends at once without any event is a failure, and is not repeated in a loop', async () => {
  await using h = await startHarness({ member: { objects: [pod('a')] } })
  h.member.misbehave({ on: { watch: true }, fault: { type: 'body', text: '' } })
  h.run()
  await h.elapse(60_000)
  assert.deepEqual([...new Set(h.codes())], ['shortWatch'])
  assert.ok(h.watchRequests() <= 10, `${h.watchRequests()} watches in a minute`)
  assert.ok(h.lists() >= 2, 'after five of them the version itself is doubted')
})

test('a fault of ours ends the run and is told', async () => {
  const h = await startHarness({ member: { objects: [pod('a')] } })
  h.store.apply = () => {
    throw new TypeError('a bug')
  }
  h.run()
  const ended = assert.rejects(h.running ?? Promise.resolve(), TypeError)
  await h.synced()
  h.member.put(pod('b'))
  await ended
  await h.client.close()
  await h.member.close()
})
