import { z } from 'zod'
import type { Action, AnyPermission } from './define.ts'
import { ERROR_STATUS } from './errors.ts'
import { actions } from './registry.ts'

type JsonSchema = Record<string, unknown>

const entries = Object.entries(actions) as [string, Action][]

/** The HTTP door of every action as an OpenAPI 3.1 document. */
export function openApiDocument(): Record<string, unknown> {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Muster',
      version: '1',
      description:
        'Everything that anybody does to the hub is an action. Each is a POST of its input; the answer is its output. ' +
        'Devices and command lines run the same actions over their WebSocket.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    tags: [...new Set(entries.map(([name]) => areaOf(name)))].map(name => ({ name })),
    paths: Object.fromEntries(
      entries.map(([name, action]) => [`/api/v1/actions/invoke/${name}`, { post: operation(name, action) }]),
    ),
    components: {
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'muster',
          description: 'Set by signing in; `__Host-muster` under HTTPS.',
        },
        userToken: { type: 'http', scheme: 'bearer', description: 'A user token, `u_sk_…`.' },
      },
      schemas: {
        ActionError: {
          type: 'object',
          required: ['kind', 'message'],
          properties: {
            kind: { enum: Object.keys(ERROR_STATUS) },
            message: { type: 'string' },
            issues: {
              type: 'array',
              items: {
                type: 'object',
                required: ['path', 'message'],
                properties: { path: { type: 'string' }, message: { type: 'string' } },
              },
            },
            requestId: { type: 'string' },
          },
        },
      },
    },
  }
}

/** Every action as a page for people, in Markdown. */
export function actionsMarkdown(): string {
  const lines = [
    '# Actions',
    '',
    'Generated from `packages/actions` by `npm run gen`; do not edit. Each action is a `POST` of its input to',
    '`/api/v1/actions/invoke/{name}`, or a request on an `executor` channel of a device or command line.',
    'Errors are `{"kind", "message", "issues"?, "requestId"}`.',
  ]
  let area = ''
  for (const [name, action] of entries) {
    if (areaOf(name) !== area) {
      area = areaOf(name)
      lines.push('', `## ${area}`)
    }
    lines.push(
      '',
      `### ${name}`,
      '',
      action.summary,
      '',
      `- Kind: ${action.kind}`,
      `- Who: ${whoMay(action.permission)}`,
      ...(action.aliases.length > 0
        ? [`- Older names: ${action.aliases.map(alias => `\`${alias}\``).join(', ')}`]
        : []),
      ...(action.audit.length > 0 ? [`- Audited: ${action.audit.join(', ')}`] : []),
      ...(action.shownOnce.length > 0 ? [`- Shown this once: ${action.shownOnce.join(', ')}`] : []),
      `- Input: \`${shapeOf(inputSchema(action))}\``,
      `- Output: \`${shapeOf(outputSchema(action))}\``,
    )
  }
  return `${lines.join('\n')}\n`
}

/** A permission in words. */
export function whoMay(permission: AnyPermission): string {
  if (permission === 'anyone') return 'anyone, signed in or not'
  if (permission === 'user') return 'every person who is signed in'
  if (permission === 'admin') return 'administrators of the instance'
  if (permission === 'device') return 'the device itself'
  const { can, on } = permission
  if (on === 'user') return 'the person; administrators of the instance'
  const what = on === 'deploymentToken' ? 'deployment token' : on
  if (can === 'report') return 'the device itself; members of its organization'
  if (can === 'inspect')
    return 'the device itself; members of its organization; administrators of the instance'
  if (can === 'administer') return 'administrators of the organization'
  if (can === 'delete' && on === 'organization')
    return 'administrators of the organization; administrators of the instance'
  const members = `members of the ${on === 'organization' ? '' : `${what}'s `}organization`
  return can === 'manage' ? members : `${members}; administrators of the instance`
}

function operation(name: string, action: Action): JsonSchema {
  const failures = {
    400: 'Invalid',
    401: 'Forbidden: not signed in',
    403: 'Forbidden',
    413: 'Invalid: too large',
    429: 'RateLimited',
    500: 'Internal',
  }
  const error = { content: { 'application/json': { schema: { $ref: '#/components/schemas/ActionError' } } } }
  return {
    operationId: name,
    tags: [areaOf(name)],
    summary: action.summary,
    description: `Kind: ${action.kind}. Who: ${whoMay(action.permission)}.`,
    ...(action.permission !== 'anyone' && { security: [{ session: [] }, { userToken: [] }] }),
    requestBody: { required: true, content: { 'application/json': { schema: inputSchema(action) } } },
    responses: {
      200: { description: 'The output.', content: { 'application/json': { schema: outputSchema(action) } } },
      ...Object.fromEntries(
        Object.entries(failures).map(([status, description]) => [status, { description, ...error }]),
      ),
    },
  }
}

function areaOf(name: string): string {
  return name.split('_')[0]!
}

function inputSchema(action: Action): JsonSchema {
  return schemaOf(action.input, 'input')
}

function outputSchema(action: Action): JsonSchema {
  return schemaOf(action.output, 'output')
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
  }) as JsonSchema
  return rest
}

/** A JSON schema as one short line. */
function shapeOf(schema: JsonSchema): string {
  const union = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined
  if (union) {
    return union
      .filter(part => part.type !== 'null')
      .map(shapeOf)
      .filter((text, index, all) => all.indexOf(text) === index)
      .join(' or ')
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return (schema.enum as unknown[]).map(value => JSON.stringify(value)).join(' or ')
  if (schema.type === 'array')
    return schema.items === undefined ? '[]' : `[${shapeOf(schema.items as JsonSchema)}]`
  if (schema.type === 'object') {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
    if (properties.length === 0)
      return schema.propertyNames ? `{string: ${shapeOf(schema.additionalProperties as JsonSchema)}}` : '{}'
    const required = new Set((schema.required as string[] | undefined) ?? [])
    return `{${properties.map(([key, value]) => `${key}${required.has(key) ? '' : '?'}: ${shapeOf(value)}`).join(', ')}}`
  }
  const types = [schema.type ?? []].flat().filter(type => type !== 'null')
  return types.join(' or ') || 'any'
}
