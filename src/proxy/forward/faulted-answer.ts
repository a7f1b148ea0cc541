/** An answer that breaks off in its middle, told as one that never came. */
import type { MemberResponse } from '../../fleet/member.ts'

/** `fault` makes of what reading the body throws what the caller is told. */
export function faultedAnswer(answer: MemberResponse, fault: (error: unknown) => unknown): MemberResponse {
  return {
    ...answer,
    body: chunks(answer.body, fault),
    async bytes(limit) {
      try {
        return await answer.bytes(limit)
      } catch (error) {
        throw fault(error)
      }
    },
  }
}

async function* chunks(body: MemberResponse['body'], fault: (error: unknown) => unknown): MemberResponse['body'] {
  try {
    yield* body
  } catch (error) {
    throw fault(error)
  }
}
