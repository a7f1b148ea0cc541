/** Requests about searches that go on behind their request. */
import { badRequest } from '../../kube/status-error.ts'
import { asyncAnswer, searchAnswer } from './answers.ts'
import { ASYNC_PARAMETERS, readAsyncLook, readAsyncOptions, type AsyncAnswer } from './async-searches.ts'
import { run, type Answer, type Call } from './call.ts'
import { formOf, withParameters } from './parameters.ts'
import { readJsonBody } from './read-body.ts'
import { readNativeSearch } from './read-search.ts'
import type { Indices, Target } from './target.ts'

/** The search is read and narrowed to what its caller may see now; whoever reads it later asks nothing of the engine. */
export async function submitSearch(call: Call, indices: Indices): Promise<Answer> {
  const { request, searches } = call
  onlyElasticsearch(call)
  const options = readAsyncOptions(request.query)
  const search = readNativeSearch(withParameters(await readJsonBody(request), request.query, ASYNC_PARAMETERS))
  const form = formOf(request)
  const answered = async (): Promise<object> => searchAnswer(await run(call, indices, search), search, form)
  return toldAsync(await searches.submit(request.user, options, answered))
}

export async function keptSearch(call: Call, target: Extract<Target, { type: 'asyncSearch' }>): Promise<Answer> {
  const { request, searches } = call
  onlyElasticsearch(call)
  if (request.method === 'DELETE') {
    searches.remove(request.user, target.id)
    return { body: { acknowledged: true } }
  }
  const { id, statusOnly } = target
  return toldAsync(await searches.read(request.user, id, { ...readAsyncLook(request.query), statusOnly }), statusOnly)
}

function toldAsync(answer: AsyncAnswer, statusOnly = false): Answer {
  const { id, running } = answer
  const headers = {
    'x-elasticsearch-async-is-running': running ? '?1' : '?0',
    ...(id === undefined ? {} : { 'x-elasticsearch-async-id': id }),
  }
  return { body: asyncAnswer(answer, statusOnly), headers }
}

function onlyElasticsearch({ engine }: Call): void {
  if (engine !== 'elasticsearch') throw badRequest('OpenSearch has no _async_search: use _search')
}
