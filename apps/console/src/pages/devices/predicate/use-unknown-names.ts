import { MAX_FILTER_LENGTH, MAX_SUGGESTED_NAMES, MAX_SUGGESTED_VALUES } from '@muster/actions/client'
import type { JsonExpr } from '@muster/predicates'
import { fieldOf, LABELS, nearest, partsOf } from '@muster/predicates'
import { useQueries } from '@tanstack/react-query'
import { actionQuery } from '../../../api/queries.ts'
import { counted } from '../../../lib/app/format.ts'
import { exprOfItems } from './items.ts'
import type { Where } from './read-where.ts'

/** A property or a label that no device has, with the one of a similar name. */
export type UnknownName = {
  kind: 'property' | 'label'
  name: string
  nearest?: string | undefined
  /** Number of devices whose properties the hub has read. For labels it reads all. */
  devicesRead?: number
}

/** Names of a predicate that are looked up at most. It equals the bound of its properties. */
const MAX_NAMES = 16

/** Properties and labels that a predicate reads. */
function namesOf(expr: JsonExpr | undefined): Pick<UnknownName, 'kind' | 'name'>[] {
  const found = new Map<string, Pick<UnknownName, 'kind' | 'name'>>()
  const visit = (part: JsonExpr) => {
    const isPath = part.kind === 'Get' || part.kind === 'Exists'
    if (isPath && part.expr.kind === 'NamedValue' && part.expr.name === LABELS && part.path.length > 0) {
      const name = String(part.path[0])
      found.set(`label ${name}`, { kind: 'label', name })
    }
    if (part.kind === 'NamedValue' && fieldOf(part.name) === undefined && part.name !== LABELS)
      found.set(part.name, { kind: 'property', name: part.name })
    for (const [, inner] of partsOf(part)) visit(inner)
  }
  if (expr) visit(expr)
  return [...found.values()].slice(0, MAX_NAMES)
}

/** The properties and labels of a predicate that no device of the project has. Undefined until the hub has answered. */
export function useUnknownNames(
  projectId: string,
  where: Pick<Where, 'filter' | 'items'> | undefined,
): UnknownName[] | undefined {
  const names = namesOf(where?.filter.predicate ?? (where?.items && exprOfItems(where.items)))
  const properties = names.filter(({ kind }) => kind === 'property')
  const labels = names.filter(({ kind }) => kind === 'label')
  // The first query of each kind has the names that are suggested instead.
  const paths = useQueries({ queries: queriesFor(properties, text => namesQuery(projectId, text)) })
  const keys = useQueries({ queries: queriesFor(labels, text => keysQuery(projectId, text)) })
  if ([...paths, ...keys].some(({ isPending }) => isPending)) return undefined
  const known = paths[0]?.data?.names.map(({ path }) => path) ?? []
  const knownKeys = keys[0]?.data?.keys.map(({ key }) => key) ?? []
  const ofProperties = properties.flatMap((one, index) => {
    const answer = paths[index + 1]?.data
    const isKnown = !answer || answer.tookTooLong || answer.names.some(({ path }) => path === one.name)
    return isKnown ? [] : [{ ...one, devicesRead: answer.devicesRead, nearest: similar(one.name, known) }]
  })
  const ofLabels = labels.flatMap((one, index) => {
    const answer = keys[index + 1]?.data
    const isKnown = !answer || answer.tookTooLong || answer.keys.some(({ key }) => key === one.name)
    return isKnown ? [] : [{ ...one, nearest: similar(one.name, knownKeys) }]
  })
  return [...ofProperties, ...ofLabels]
}

function queriesFor<Query>(
  names: readonly Pick<UnknownName, 'name'>[],
  query: (text: string | undefined) => Query,
): Query[] {
  if (names.length === 0) return []
  return [query(undefined), ...names.map(({ name }) => query(name.slice(0, MAX_FILTER_LENGTH)))]
}

/** Names seldom change, so that the queries are not repeated. */
const ONCE = { refetchInterval: false } as const

function namesQuery(projectId: string, text: string | undefined) {
  const input = { projectId, namesOnly: true, limit: MAX_SUGGESTED_NAMES, ...(text && { text }) }
  return { ...actionQuery('projects_QueryPropertyNames', input), ...ONCE }
}

function keysQuery(projectId: string, text: string | undefined) {
  const input = { projectId, limit: MAX_SUGGESTED_VALUES, ...(text && { text }) }
  return { ...actionQuery('projects_QueryLabelKeys', input), ...ONCE }
}

/**
 * "no device here has the property dev.nexigon.ota.stat". Only the newest devices of a large project are read for their properties, and then
 * the words say so.
 *
 * @param deviceCount number of devices of the project, if it is known.
 */
export function unknownText(
  { kind, name, devicesRead }: UnknownName,
  deviceCount = devicesRead ?? 0,
): string {
  const isPart = devicesRead !== undefined && devicesRead < deviceCount
  const devices = isPart ? `none of the newest ${counted(devicesRead, 'device')}` : 'no device here'
  return `${devices} has the ${kind} ${name}`
}

/** The shortest name that begins with the typed one, or the one that differs from it by at most two letters. */
function similar(name: string, known: readonly string[]): string | undefined {
  const longer = known.filter(one => one.toLowerCase().startsWith(name.toLowerCase()))
  return longer.toSorted((a, b) => a.length - b.length)[0] ?? nearest(name, known)
}

/** A sentence of these words. */
export function sentence(words: string): string {
  return `${words[0]!.toUpperCase()}${words.slice(1)}.`
}
