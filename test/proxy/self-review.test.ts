import assert from 'node:assert/strict'
import { systemClock } from '../../src/util/clock.ts'
import { createWriteServices } from '../../src/proxy/write/write.ts'
import { test } from 'node:test'
import { createMembersPlugin } from '../../src/proxy/plugins/members.ts'
import { P, withApi } from './api-fixture.ts'
import { pod, podFleet } from './fleet-fixture.ts'
import { MemberWorld } from './member-fixture.ts'

test('E9: without a control plane, self reviews say that all may be read and nothing changed', async () => {
  const fleet = podFleet({ m1: { objects: [pod('a', 'p')], version: 1 } })
  const members = new MemberWorld(fleet.clock)
  const { columns, clock } = fleet
  const { discovery } = members
  const plugin = createMembersPlugin({
    ...createWriteServices({ clock: systemClock }),
    columns,
    clock,
    discovery,
    random: () => 0,
    fleet: members.fleet,
  })
  await withApi(
    fleet,
    members,
    async (api) => {
      const review = async (kind: string, group: string, resource: string, spec: object) => {
        const body = JSON.stringify({ kind, apiVersion: `${group}/v1`, spec })
        const headers = { 'content-type': 'application/json' }
        return api.ask(`${P}/apis/${group}/v1/${resource}`, { method: 'POST', headers, body })
      }
      const may = async (verb: string): Promise<unknown> => {
        const spec = { resourceAttributes: { verb, resource: 'pods' } }
        const answer = await review('SelfSubjectAccessReview', 'authorization.k8s.io', 'selfsubjectaccessreviews', spec)
        assert.equal(answer.status, 201)
        assert.deepEqual(answer.json.spec, spec)
        return answer.json.status
      }
      assert.deepEqual(await may('list'), { allowed: true })
      assert.deepEqual(await may('delete'), { allowed: false, reason: 'this server is read-only' })
      const rules = await review('SelfSubjectRulesReview', 'authorization.k8s.io', 'selfsubjectrulesreviews', {})
      assert.deepEqual(rules.json.status.resourceRules[0].verbs, ['get', 'list', 'watch'])
      const self = await review('SelfSubjectReview', 'authentication.k8s.io', 'selfsubjectreviews', {})
      assert.equal(typeof self.json.status.userInfo.username, 'string')
      const odd = await review('Pod', 'authorization.k8s.io', 'selfsubjectaccessreviews', {})
      assert.equal(odd.status, 400)
    },
    { behind: [plugin] },
  )
})
