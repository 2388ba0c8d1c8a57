import { z } from 'zod'
import type { Action, AnyPermission } from './define.ts'
import { ERROR_STATUS } from './errors.ts'
import { RECENT_SIGN_IN_SECS } from './limits.ts'
import { DeviceOperationStep } from './operations.ts'
import { STORABLE_TEXT } from './patterns.ts'
import { ROLES, type Role, rolesOf } from './permissions.ts'
import { exprSchema } from './predicates.ts'
import { actions } from './registry.ts'
import { VERSION } from './version.ts'

type JsonSchema = Record<string, unknown>

const entries = Object.entries(actions) as [string, Action][]

/** Returns the HTTP API of all actions as an OpenAPI 3.1 document. */
export function openApiDocument(): Record<string, unknown> {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Muster',
      version: VERSION,
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
        StorableJson: {
          description: 'Any JSON whose strings and keys contain no NUL.',
          anyOf: [
            { type: ['null', 'boolean', 'number'] },
            { type: 'string', pattern: STORABLE_TEXT },
            { type: 'array', items: { $ref: '#/components/schemas/StorableJson' } },
            {
              type: 'object',
              propertyNames: { type: 'string', pattern: STORABLE_TEXT },
              additionalProperties: { $ref: '#/components/schemas/StorableJson' },
            },
          ],
        },
        JsonExpr: exprSchema(),
        DeviceOperationStep: schemaOf(DeviceOperationStep, 'input'),
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

/** Returns the reference of all actions in Markdown (docs/actions.md). */
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
      ...conditionsOf(action).map(condition => `- ${capital(condition)}`),
      ...(action.aliases.length > 0
        ? [`- Older names: ${action.aliases.map(alias => `\`${alias}\``).join(', ')}`]
        : []),
      ...(action.audit.length > 0 ? [`- Audited: ${action.audit.join(', ')}`] : []),
      ...(action.shownOnce.length > 0 ? [`- Shown only once: ${action.shownOnce.join(', ')}`] : []),
      `- Input: \`${shapeOf(schemaOf(action.input, 'input'))}\``,
      `- Output: \`${shapeOf(schemaOf(action.output, 'output'))}\``,
    )
  }
  return `${lines.join('\n')}\n`
}

/** Headings of the columns in the table of permissions. */
const COLUMNS: Record<Role, string> = {
  anyone: 'Anyone',
  person: 'Signed in',
  oneself: 'Oneself',
  member: 'Member',
  organizationAdmin: 'Organization administrator',
  instanceAdmin: 'Instance administrator',
  device: 'Device itself',
  linkedDevice: 'Device of a linked project',
  publicReader: 'Anyone, if public',
}

/** Returns the table of permissions in Markdown (docs/permissions.md). */
export function permissionsMarkdown(): string {
  const columns = ROLES.map(role => COLUMNS[role])
  const rows = entries.map(([name, action]) => {
    const roles = rolesOf(action.permission)
    const marks = ROLES.map(role => (roles.has(role) ? 'yes' : '–'))
    return [name, ...marks, conditionsOf(action).join('; ')]
  })
  const lines = [['Action', ...columns, 'Notes'], Array(ROLES.length + 2).fill('---'), ...rows]
  return `${PERMISSIONS_INTRODUCTION}${lines.map(cells => `| ${cells.join(' | ')} |`).join('\n')}\n`
}

const PERMISSIONS_INTRODUCTION = `# Permissions

Permissions of each role. Generated from \`packages/actions\` by \`npm run gen\`; do not edit. The hub applies the same
function as this table (\`rolesOf\` in \`packages/actions/src/permissions.ts\`), and a test runs every action as every kind of caller.

## Roles

- **Anyone** needs no credentials: to sign up, to activate an account, to set a password with a mailed link.
- **Signed in** is every person with a session or a user token. A user token may do what its person may, except where a recent
  sign-in is needed: then it needs the current password as well.
- **Oneself** is the person that a record belongs to: an account, session, token, invitation or membership.
- **Member** of an organization: sees everything in it and works with its projects, devices and repositories.
- **Organization administrator**: a member who also manages members and invitations, and renames or deletes the organization. The
  last one can neither leave nor be removed nor step down.
- **Instance administrator**: keeps accounts, organizations and their members in order, and reads and deletes in every
  organization, which is always audited. They change nothing else there unless they are members, and see no secrets.
- **Device itself**: a device acting on itself over its own connection. It has no rights on other devices.
- **Device of a linked project**: reads the repositories that are linked to its project.
- **Anyone, if public**: a public repository is read by everybody, with and without credentials.

A missing permission, a record that does not exist and a record of another organization all get the same answer: 403 \`Forbidden\`
with one text, or 401 without valid credentials. Memberships, sessions and tokens are read at each call, so a right that was
withdrawn is gone with the next call. The lists open to every person (\`organizations_Query\`, \`projects_Query\`,
\`devices_Query\`) contain only their own organizations; instance administrators see all.

Two actions check more: only instance administrators may name the administrators of a new organization
(\`organizations_Create\`), and only administrators may add a rejected or revoked certificate again (\`devices_AddCertificate\`).

A recent sign-in is at most ${RECENT_SIGN_IN_SECS / 60} min old; the current password in \`currentPassword\` is accepted instead.

## Actions

`

/** Describes in words who may run an action with this permission. */
export function whoMay(permission: AnyPermission): string {
  if (permission === 'anyone') return 'anyone, signed in or not'
  if (permission === 'user') return 'every person who is signed in'
  const roles = rolesOf(permission)
  const { on, orOneself } = typeof permission === 'object' ? permission : {}
  const thing = on?.replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
  const owner = roles.has('device')
    ? 'its organization'
    : on === 'organization'
      ? 'the organization'
      : `the ${thing}'s organization`
  const words: [Role, string][] = [
    ['device', 'the device itself'],
    ['member', `members of ${owner}`],
    // Administrators of an organization are members too, so they are listed only if members are not.
    ...(roles.has('member')
      ? []
      : [['organizationAdmin', 'administrators of the organization'] satisfies [Role, string]]),
    [
      'oneself',
      orOneself ? 'the member in question' : on === 'invitation' ? 'the invited person' : 'the person',
    ],
    ['instanceAdmin', 'administrators of the instance'],
    ['linkedDevice', 'devices of linked projects'],
    ['publicReader', 'anyone while the repository is public'],
  ]
  return words
    .filter(([role]) => roles.has(role))
    .map(([, text]) => text)
    .join('; ')
}

/** Returns the conditions of an action besides its permission, in words: a recent sign-in, a session, limits of calls and creations. */
export function conditionsOf({ recentSignIn, rateLimit, needsSession, isCreation }: Action): string[] {
  const { perAddress, perPerson, countedAs } = rateLimit ?? {}
  const shared = countedAs === undefined ? '' : `, together with ${countedAs}`
  return [
    ...(recentSignIn ? [`needs a recent sign-in, not a user token (${recentSignIn.when})`] : []),
    ...(needsSession ? ['needs a session, not a user token'] : []),
    ...(perAddress ? [`${rateWords(perAddress)} from one address${shared}`] : []),
    ...(isCreation ? ['counts towards the limit of creations by one person'] : []),
    ...(perPerson ? [`${rateWords(perPerson)} by one person${shared}`] : []),
  ]
}

function rateWords({ calls, perSecs }: { calls: number; perSecs: number }): string {
  return `${calls} calls in ${perSecs / 60} min`
}

function operation(name: string, action: Action): JsonSchema {
  const failures = {
    400: 'Invalid',
    401: 'Forbidden: not signed in',
    403: 'Forbidden',
    404: 'Invalid: a record that the input names does not exist',
    409: 'Invalid: conflicts with existing data, or with a rule that the schema does not express',
    413: 'Invalid: too large',
    415: 'Invalid: no JSON, or compressed',
    421: 'Invalid: the cookie was sent under a host name that is not of this hub',
    429: 'RateLimited',
    500: 'Internal',
    502: 'Internal: an object storage failed',
    503: 'Internal: not available now',
    507: 'Internal: the disk is full',
  }
  const error = { content: { 'application/json': { schema: { $ref: '#/components/schemas/ActionError' } } } }
  return {
    operationId: name,
    tags: [areaOf(name)],
    summary: action.summary,
    description: [
      `Kind: ${action.kind}`,
      `Who: ${whoMay(action.permission)}`,
      ...conditionsOf(action).map(capital),
    ]
      .map(sentence => `${sentence}.`)
      .join(' '),
    ...(action.permission !== 'anyone' && { security: [{ session: [] }, { userToken: [] }] }),
    requestBody: {
      // The hub treats a missing body as the empty object, so the body is required only if the empty object is invalid.
      required: !action.input.safeParse({}).success,
      content: { 'application/json': { schema: schemaOf(action.input, 'input') } },
    },
    responses: {
      200: {
        description: 'The output.',
        content: { 'application/json': { schema: schemaOf(action.output, 'output') } },
      },
      ...Object.fromEntries(
        Object.entries(failures).map(([status, description]) => [status, { description, ...error }]),
      ),
    },
  }
}

function capital(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}`
}

function areaOf(name: string): string {
  return name.split('_')[0]!
}

/** JSON Schema of the output of an action, as a client gets it. */
export function outputSchemaOf(output: z.ZodType): JsonSchema {
  return schemaOf(output, 'output')
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
  }) as JsonSchema
  return rest
}

/** Formats a JSON schema in a short notation on one line. */
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
  if (typeof schema.$ref === 'string') return schema.$ref.split('/').at(-1)!
  const types = [schema.type ?? []].flat().filter(type => type !== 'null')
  return types.join(' or ') || 'any'
}
