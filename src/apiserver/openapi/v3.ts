/** OpenAPI 3.0 documents. */
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

const V3: Dialect = { prefix: '#/components/schemas/', detailed: true }

export function openApiV3(paths: Paths, definitions: Definitions): object {
  return {
    openapi: '3.0.0',
    info: INFO,
    paths: renderPaths(paths, operationOf, parameterOf),
    components: { schemas: schemasOf(definitions, V3), securitySchemes: { BearerToken: BEARER_TOKEN } },
  }
}

function operationOf(operation: Operation): object {
  const { id, text, tag, parameters, body, answers, answer, produces, action, kind } = operation
  const schema = answer === undefined ? { type: 'string' } : refTo(answer, V3)
  return {
    tags: [tag],
    description: text,
    operationId: id,
    ...(parameters === undefined ? {} : { parameters: parameters.map(parameterOf) }),
    ...(body === undefined ? {} : { requestBody: bodyOf(body) }),
    responses: {
      ...Object.fromEntries(
        answers.map((status) => [status, { description: DESCRIPTIONS[status], content: contentOf(produces, schema) }]),
      ),
      401: { description: 'Unauthorized' },
    },
    ...(action === undefined ? {} : { 'x-kubernetes-action': action }),
    ...(kind === undefined ? {} : { 'x-kubernetes-group-version-kind': kind }),
  }
}

export const DESCRIPTIONS = { 200: 'OK', 201: 'Created', 202: 'Accepted' } as const

function bodyOf({ ref, types, required }: NonNullable<Operation['body']>): object {
  return { content: contentOf(types, refTo(ref, V3)), ...(required ? { required } : {}) }
}

function contentOf(types: readonly string[], schema: object): object {
  return Object.fromEntries(types.map((type) => [type, { schema }]))
}

function parameterOf({ name, in: place, type, text }: Parameter): object {
  return {
    name,
    in: place,
    description: text,
    ...(place === 'path' ? { required: true } : {}),
    schema: { type, uniqueItems: true },
  }
}
