import { type Action, actions } from '@muster/actions'
import { outputSchemaOf } from '@muster/actions/openapi'

/** The parts of a JSON Schema that say which members a value has. */
type Schema = {
  type?: unknown
  properties?: Record<string, Schema>
  required?: readonly string[]
  additionalProperties?: Schema | boolean
  items?: Schema
  anyOf?: readonly Schema[]
  oneOf?: readonly Schema[]
}

/** Required members of an object by name, those of an array's items, or `undefined` for any other value. */
type Shape = { members: Map<string, Member> } | { items: Shape } | undefined
type Member = { isRequired: boolean; shape: Shape }

/** Queries of the first screens of signed-in people. Their members belong to the first code that the console loads. */
const FIRST: readonly string[] = [
  'actor_GetActor',
  'users_GetView',
  'users_QueryOrganizations',
  'users_QueryOrganizationInvitations',
  'organizations_QueryProjects',
  'projects_GetDetails',
  'projects_GetSummary',
  'projects_GetPins',
  'projects_QueryDevices',
  'projects_QueryDeviceCounts',
  'views_Query',
]

/**
 * Texts of the console's two tables of the members that its queries must have in their answers: those of the first screens, and the others,
 * which are loaded with the first of their queries.
 */
export function requiredMembersTexts(): { first: string; later: string } {
  const rows = (Object.entries(actions) as [string, Action][])
    .filter(([, { kind }]) => kind === 'query')
    .map(([name, { output }]) => [name, textOf(shapeOf(outputSchemaOf(output) as Schema))] as const)
    .filter(([, text]) => text !== '')
  const table = (isFirst: boolean, which: string): string => `// Written by \`npm run gen\` from the contract.

/**
 * Members that the answer of each query ${which} must have: names of an object's members in braces, of those of a list's items in brackets.
 * A question mark follows the name of an optional member.
 */
export const REQUIRED_MEMBERS: Readonly<Record<string, string>> = {
${rows
  .filter(([name]) => FIRST.includes(name) === isFirst)
  .map(([name, text]) => `  ${name}: '${text}',`)
  .join('\n')}
}
`
  return { first: table(true, 'of the first screens'), later: table(false, 'of the other screens') }
}

function shapeOf(schema: Schema): Shape {
  const branches = schema.anyOf ?? schema.oneOf
  if (branches) return branches.map(shapeOf).reduce(common)
  if (schema.type === 'array') return { items: schema.items && shapeOf(schema.items) }
  if (schema.type !== 'object' || !schema.properties) return undefined
  const members = Object.entries(schema.properties).map(([name, value]): [string, Member] => [
    name,
    // A schema that allows any value also stands for a transformed one, which may be absent.
    { isRequired: isLimited(value) && schema.required?.includes(name) === true, shape: shapeOf(value) },
  ])
  return { members: new Map(members.filter(([, { isRequired, shape }]) => isRequired || shape)) }
}

/** Whether a schema limits its values. */
function isLimited(schema: object): boolean {
  return ['type', 'anyOf', 'oneOf', 'enum', 'const', '$ref'].some(key => key in schema)
}

/** What the values of two shapes have in common. */
function common(a: Shape, b: Shape): Shape {
  if (a && b && 'items' in a && 'items' in b) return { items: common(a.items, b.items) }
  if (!a || !b || 'items' in a || 'items' in b) return undefined
  const members = new Map<string, Member>()
  for (const [name, { isRequired, shape }] of a.members) {
    const other = b.members.get(name)
    if (other)
      members.set(name, { isRequired: isRequired && other.isRequired, shape: common(shape, other.shape) })
  }
  return { members }
}

function textOf(shape: Shape): string {
  if (!shape) return ''
  if ('items' in shape)
    return `[${shape.items && 'members' in shape.items ? namesOf(shape.items.members) : ''}]`
  return `{${namesOf(shape.members)}}`
}

function namesOf(members: ReadonlyMap<string, Member>): string {
  return [...members]
    .map(([name, { isRequired, shape }]) => `${name}${isRequired ? '' : '?'}${textOf(shape)}`)
    .join(' ')
}
