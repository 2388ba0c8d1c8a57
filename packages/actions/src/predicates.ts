import {
  COMPARISONS,
  FIELD_PREFIX,
  type Json,
  type JsonExpr,
  MAX_AGO_SECS,
  MAX_EXPRS,
  MAX_PATH,
  MAX_REQUIREMENT_LENGTH,
  problemsOf,
} from '@muster/predicates'
import { z } from 'zod'
import { optional } from './define.ts'
import { MAX_PROPERTY_NAME_LENGTH } from './property-name.ts'
import { text } from './text.ts'

const Value = z
  .custom<Json>(value => value !== undefined, 'required')
  .meta({ $ref: '#/components/schemas/StorableJson' })
const Path = z.array(z.union([text(MAX_PROPERTY_NAME_LENGTH), z.int().min(0)])).max(MAX_PATH)

/** An expression of the public protocol. It refers to itself, so its type is given. */
const Expr: z.ZodType<JsonExpr> = z.lazy(() => z.discriminatedUnion('kind', EXPRS))

const pair = { left: Expr, right: Expr }

const EXPRS = [
  z.object({
    kind: z.literal('Literal'),
    value: Value,
  }),
  z.object({ kind: z.literal('Current') }),
  z.object({
    kind: z.literal('NamedValue'),
    name: text(MAX_PROPERTY_NAME_LENGTH)
      .min(1)
      .describe(`Name of a property, or a field of the device after \`${FIELD_PREFIX}\`.`),
    default: optional(Expr),
  }),
  z.object({ kind: z.literal('Get'), expr: Expr, path: Path, default: optional(Expr) }),
  z.object({ kind: z.enum(COMPARISONS), ...pair }),
  z.object({ kind: z.literal('In'), ...pair }),
  z.object({ kind: z.literal('Contains'), ...pair, ignoreCase: optional(z.boolean()) }),
  z.object({ kind: z.enum(['And', 'Or']), exprs: z.array(Expr).min(1).max(MAX_EXPRS) }),
  z.object({ kind: z.literal('Not'), expr: Expr }),
  z.object({ kind: z.literal('Exists'), expr: Expr, path: Path }),
  z.object({
    kind: z.literal('VersionRequirement'),
    expr: Expr,
    requirement: text(MAX_REQUIREMENT_LENGTH).min(1),
  }),
  z.object({ kind: z.literal('Ago'), secs: z.int().min(0).max(MAX_AGO_SECS) }),
] as const

/** Place of the schema of expressions in the OpenAPI document. */
const REF = '#/components/schemas/JsonExpr'

/** An expression that is checked as a whole. */
function checked(use: 'condition' | 'mutation') {
  return z
    .custom<JsonExpr>()
    .superRefine((value, context) => {
      const { data, error } = Expr.safeParse(value)
      const problems = data && problemsOf(data, use)
      for (const { path, message } of error?.issues ?? []) context.addIssue({ code: 'custom', path, message })
      for (const { at, found, expected } of problems ?? [])
        context.addIssue({
          code: 'custom',
          path: at === '' ? [] : at.split('.'),
          message: `found ${found}, expected ${expected}`,
        })
    })
    .meta({ $ref: REF })
}

/** A condition on a device (docs/predicates.md). */
export const Predicate = checked('condition')

/** A change of a part of a property. Its expression may read the current value. */
export const Mutation = z.discriminatedUnion('mutation', [
  z.object({
    mutation: z.enum(['Set', 'MergePatch']),
    path: Path,
    expr: checked('mutation'),
  }),
  z.object({ mutation: z.literal('Remove'), path: Path.min(1) }),
])

/** JSON schema of an expression for the OpenAPI document, where it refers to itself by its name. */
export function exprSchema(): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(Expr, {
    io: 'input',
    target: 'draft-2020-12',
    unrepresentable: 'any',
  })
  return JSON.parse(
    JSON.stringify(schema).replaceAll('"$ref":"#"', JSON.stringify({ $ref: REF }).slice(1, -1)),
  )
}
