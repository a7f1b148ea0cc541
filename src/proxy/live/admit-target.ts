/** Of the members that serve a resource, those that would answer the caller. */
import type { Admission } from '../../http/admission.ts'
import { admit } from '../../http/admission.ts'
import { forbidden } from '../../http/forbidden.ts'
import type { Rights } from '../../http/rights.ts'
import type { ResourcePath } from '../../kube/resource-path.ts'
import { questionOf } from '../access.ts'
import type { ProxyRequest } from '../plugin.ts'
import { MemberFault } from './member-fault.ts'
import type { LiveTarget } from './target.ts'

export interface AdmittedTarget {
  readonly target: LiveTarget
  /** Undefined where rights are not looked at. */
  readonly admission: Admission | undefined
}

/** Rejects with the refusal where none of them would. */
export async function admitTarget(
  rights: Rights | undefined,
  request: ProxyRequest,
  path: ResourcePath,
  target: LiveTarget,
): Promise<AdmittedTarget> {
  if (rights === undefined) return { target, admission: undefined }
  const question = questionOf(request, path, target.namespaced)
  const clusters = target.members.map(({ facts }) => facts.name)
  const admission = await admit(rights, question, clusters, request.request.signal)
  const members = target.members.filter(({ facts }) => admission.scopes.has(facts.name))
  const { message } = forbidden(question.user, question)
  const refused = admission.refused.map(({ cluster, undetermined }) =>
    undetermined === undefined
      ? new MemberFault(cluster, 403, message)
      : new MemberFault(cluster, undefined, `your rights: ${undetermined}`),
  )
  return { target: { ...target, members, refused }, admission }
}
