/** The one Swagger 2.0 document, which kube-apiservers merge into their own. */
import {
  BEARER_TOKEN,
  INFO,
  renderPaths,
  type Definitions,
  type Operation,
  type Parameter,
  type Paths,
} from './model.ts'
import { refTo, schemasOf, type Dialect } from './schema.ts'
import { DESCRIPTIONS } from './v3.ts'

const V2: Dialect = { prefix: '#/definitions/', detailed: false }

export function openApiV2(paths: Paths, definitions: Definitions): object {
  return {
    swagger: '2.0',
    info: INFO,
    paths: renderPaths(paths, operationOf, parameterOf),
    definitions: schemasOf(definitions, V2),
    securityDefinitions: { BearerToken: BEARER_TOKEN },
    security: [{ BearerToken: [] }],
  }
}

function operationOf(operation: Operation): object {
  const { id, text, tag, parameters = [], body, answers, answer, produces, action, kind } = operation
  const schema = answer === undefined ? { type: 'string' } : refTo(answer, V2)
  const inBody = body === undefined ? [] : [bodyOf(body)]
  return {
    description: text,
    consumes: body?.types ?? (action === undefined ? produces : ['*/*']),
    produces,
    schemes: ['https'],
    tags: [tag],
    operationId: id,
    ...(inBody.length + parameters.length === 0 ? {} : { parameters: [...inBody, ...parameters.map(parameterOf)] }),
    responses: {
      ...Object.fromEntries(answers.map((status) => [status, { description: DESCRIPTIONS[status], schema }])),
      401: { description: 'Unauthorized' },
    },
    ...(action === undefined ? {} : { 'x-kubernetes-action': action }),
    ...(kind === undefined ? {} : { 'x-kubernetes-group-version-kind': kind }),
  }
}

function bodyOf({ ref, required }: NonNullable<Operation['body']>): object {
  return { name: 'body', in: 'body', schema: refTo(ref, V2), ...(required ? { required } : {}) }
}

function parameterOf({ name, in: place, type, text }: Parameter): object {
  return {
    uniqueItems: true,
    type,
    description: text,
    name,
    in: place,
    ...(place === 'path' ? { required: true } : {}),
  }
}
