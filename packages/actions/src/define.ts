import { z } from 'zod'
import { MAX_CURSOR_LENGTH, MAX_FILTER_LENGTH, MAX_PAGE_SIZE } from './limits.ts'
import { text } from './scalars.ts'

/**
 * What one may do: read, read what the device itself may read too, read what a repository gives to its readers, change, delete,
 * report as the device itself, administer an organization, or what only the person behind a thing may do. Deleting is apart from
 * changing because administrators of the instance may read and delete in any organization and change in none but their own
 * (decisions).
 */
export type Right = 'view' | 'inspect' | 'read' | 'manage' | 'delete' | 'report' | 'administer' | 'own'

/** Resources that a permission can name, by the brand of their id. */
type ResourceIds = {
  user: 'u'
  userToken: 'u_pk'
  session: 'u_session_pk'
  organization: 'org'
  invitation: 'org_invite'
  repository: 'repo'
  package: 'pkg'
  packageVersion: 'pkg_v'
  asset: 'repo_a'
  project: 'p'
  deploymentToken: 'deployment_id'
  device: 'd'
  certificate: 'd_c'
}

export type ResourceKind = keyof ResourceIds

type FieldsBranded<Input, Brand extends string> = {
  [K in keyof Input & string]: Input[K] extends z.$brand<Brand> ? K : never
}[keyof Input & string]

type ScopedPermission<Input> = {
  [Kind in ResourceKind]: {
    can: Right
    on: Kind
    id: FieldsBranded<Input, ResourceIds[Kind]>
    /** Input field with a person's id: who names themself there needs to be no more than a member. */
    orOneself?: FieldsBranded<Input, 'u'>
  }
}[ResourceKind]

/** `anyone` needs no sign-in, `user` a person, `admin` an administrator of the instance, `device` a device. */
type PlainPermission = 'anyone' | 'user' | 'admin' | 'device'

/** Who may run an action; an object names a right on the resource whose id stands in the input field `id`. */
export type Permission<Input> = PlainPermission | ScopedPermission<Input>

/** The same, read without its input type. */
export type AnyPermission = PlainPermission | { can: Right; on: ResourceKind; id: string; orOneself?: string }

/** A person who runs an action, as far as a rule on them needs to know. */
type Person = { actor: 'User' | 'UserToken'; userId: string }

/**
 * When an action needs a session whose sign-in is younger than `RECENT_SIGN_IN_SECS`, or the current password in the input field
 * `currentPassword` (decisions, "Actions and audit").
 */
export type RecentSignIn<Input> = {
  /** The condition in words, for documents. */
  when: string
  isNeeded(input: Input, person: Person): boolean
}

/** So many calls in so many seconds; what is beyond is `RateLimited` until the oldest are that old. */
type Rate = { calls: number; perSecs: number }

/**
 * How often an action may be called from one address and by one person. There is none for whom an input names: anybody could use
 * up the calls of somebody else.
 */
export type RateLimit = {
  perAddress?: Rate
  perPerson?: Rate
}

/** `query` reads, `command` writes and is audited, `telemetry` is what devices send all day and is batched. */
export type ActionKind = 'query' | 'command' | 'telemetry'

/** Brands of values that must not be kept: made with `secret()`, or secrets by their prefix. */
type SecretBrand = 'secret' | 'u_sk' | 'u_session_sk' | 'deployment' | 'd_sk'

/** `true` when a value may hold a secret anywhere inside, optional or not. */
type HoldsSecret<Value> = Value extends string | number | boolean | null | undefined
  ? Value extends { [z.$brand]: infer Brands }
    ? keyof Brands & SecretBrand extends never
      ? never
      : true
    : never
  : Value extends object
    ? { [K in keyof Value]: HoldsSecret<Value[K]> }[keyof Value]
    : never

type AuditableFields<Input> = {
  [K in keyof Input & string]: true extends HoldsSecret<Input[K]> ? never : K
}[keyof Input & string]

/** One entry of the registry; its name is its key there. */
export type Action<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType> = {
  kind: ActionKind
  summary: string
  input: Input
  output: Output
  permission: AnyPermission
  /** Input fields that are copied into the audit row; secrets cannot be listed. */
  audit: readonly string[]
  /** Older names of the same action. */
  aliases: readonly string[]
  /** Output fields that carry a secret on purpose, shown once. */
  shownOnce: readonly string[]
  recentSignIn?: RecentSignIn<never>
  rateLimit?: RateLimit
}

type Definition<Input extends z.ZodType, Output extends z.ZodType> = {
  summary: string
  input: Input
  output: Output
  permission: Permission<z.output<Input>>
  recentSignIn?: RecentSignIn<z.output<Input>>
  rateLimit?: RateLimit
  aliases?: readonly string[]
  shownOnce?: readonly string[]
}

/** Declares an action that reads: no transaction, no audit row, may be polled. */
export function query<Input extends z.ZodType, Output extends z.ZodType>(
  definition: Definition<Input, Output>,
): Action<Input, Output> & { kind: 'query' } {
  return { aliases: [], shownOnce: [], ...definition, kind: 'query', audit: [] }
}

/** Declares an action that writes: one transaction with its audit events, one audit row with its outcome. */
export function command<Input extends z.ZodType, Output extends z.ZodType>(
  definition: Definition<Input, Output> & { audit: readonly AuditableFields<z.output<Input>>[] },
): Action<Input, Output> & { kind: 'command' } {
  return { aliases: [], shownOnce: [], ...definition, kind: 'command' }
}

/** Declares an action that a device runs on itself all day, batched and not audited; run by anybody else it is a command. */
export function telemetry<Input extends z.ZodType, Output extends z.ZodType>(
  definition: Definition<Input, Output> & { audit: readonly AuditableFields<z.output<Input>>[] },
): Action<Input, Output> & { kind: 'telemetry' } {
  return { aliases: [], shownOnce: [], ...definition, kind: 'telemetry' }
}

/** An optional field: absent and `null` mean the same (catalogue 1.7). */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform(value => value ?? undefined)
}

/** An optional text whose blank form means absent (catalogue 1.7, decisions). */
export function optionalText(schema: z.ZodString) {
  // What is not blank fails here for good, so that the schema's own complaint is the one that is told.
  const blank = z.string().regex(/^\s*$/, { abort: true })
  return z
    .union([schema, blank])
    .nullish()
    .transform(value => (value?.trim() ? value : undefined))
}

/** A string that must never reach an audit row or a log. */
export function secret<Schema extends z.ZodString>(schema: Schema) {
  return schema.brand<'secret'>()
}

/** Input fields that every list takes beyond the bare call, which answers the whole list (decisions). */
export function listInput<const Sort extends readonly [string, ...string[]], Filter extends z.ZodType>(
  sorts: Sort,
  filter: Filter,
) {
  return {
    limit: optional(z.int().min(1).max(MAX_PAGE_SIZE)).describe('Largest number of items to answer.'),
    cursor: optionalText(text(MAX_CURSOR_LENGTH)).describe('`nextCursor` of the page before.'),
    sort: optional(z.enum([...sorts, ...sorts.map(name => `-${name}`)] as [string, ...string[]])).describe(
      'Field to sort by, descending with a leading `-`.',
    ),
    filter: optional(filter),
  }
}

/** The filter of lists of things that have a name and an id. */
export const TextFilter = z.object({
  text: optionalText(text(MAX_FILTER_LENGTH)).describe('Part of a name or id.'),
})

/** Output fields that every list carries beside its items. */
export const listOutput = {
  nextCursor: z.string().optional().describe('Pass as `cursor` for the next page; absent on the last one.'),
  total: z.int().optional().describe('Number of items that match the filter.'),
}
