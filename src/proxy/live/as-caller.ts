/** Members that are read as the caller, with all that live reads do: for what nobody registered, whose rights nobody here knows. */
import type { Member, MemberClient } from '../../fleet/member.ts'
import { memberDestination } from '../forward/destination.ts'
import type { Forwarder } from '../forward/forward.ts'
import type { ProxyRequest } from '../plugin.ts'
import type { LiveTarget } from './target.ts'

export function asCaller(target: LiveTarget, request: ProxyRequest, forwarder: Forwarder): LiveTarget {
  return { ...target, members: target.members.map((member) => ofCaller(member, request, forwarder)) }
}

function ofCaller(member: Member, request: ProxyRequest, forwarder: Forwarder): Member {
  const destination = memberDestination(member)
  const client: MemberClient = {
    async request(message) {
      const caller = await forwarder.identity(request, destination)
      return destination.client.request({ ...message, headers: { ...message.headers, ...caller } })
    },
    close: () => Promise.resolve(),
  }
  return { ...member, client }
}
