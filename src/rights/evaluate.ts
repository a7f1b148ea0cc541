/**
 * What RBAC allows, as one scope: the same answer as asking the authorizer for each namespace and name.
 * Source: kubernetes plugin/pkg/auth/authorizer/rbac/rbac.go, pkg/registry/rbac/validation/rule.go.
 */
import { EVERYTHING, ObjectScopeBuilder, type ObjectScope } from '../kube/object-scope.ts'
import { MASTERS, type MemberIdentity } from './member-identity.ts'
import { ruleMatches, type PolicyQuestion } from './policy.ts'
import type { RbacIndex } from './rbac-index.ts'

/** `system:masters` passes every kube-apiserver's authorization, whatever its authorizers. */
export function scopeOf(index: RbacIndex, identity: MemberIdentity, question: PolicyQuestion): ObjectScope {
  if (identity.groups.includes(MASTERS)) return EVERYTHING
  const scope = new ObjectScopeBuilder()
  for (const binding of index.bindingsOf(identity)) {
    for (const rule of index.rulesOf(binding)) {
      if (ruleMatches(rule, question)) scope.grant(binding.namespace, rule.names)
    }
    if (scope.everything) break
  }
  return scope.build()
}
