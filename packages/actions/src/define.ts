import type { JsonExpr } from '@muster/predicates'
import { z } from 'zod'
import { MAX_CURSOR_LENGTH, MAX_FILTER_LENGTH, MAX_PAGE_SIZE } from './limits.ts'
import { BLANK_TEXT } from './patterns.ts'
import { text } from './text.ts'

/**
 * Rights on a resource:
 *
 * - `view` reads it.
 * - `inspect` reads it and also admits the device itself.
 * - `read` reads it and also admits devices of linked projects and, while the repository is public, everybody.
 * - `manage` changes it.
 * - `delete` deletes it. This right is separate from `manage`, because administrators of the instance may read and delete in
 *   any organization but change only their own (docs/decisions.md, "Actions and audit").
 * - `report` writes to it and also admits the device itself.
 * - `administer` administers an organization.
 * - `operation.view` reads operations, `operation.manage` makes, starts and cancels them.
 * - `webhook.manage` makes and changes webhooks of an organization and its projects, and turns its feed of events on.
 * - `own` admits only the person to whom the resource belongs.
 */
export type Right =
  | 'view'
  | 'inspect'
  | 'read'
  | 'manage'
  | 'delete'
  | 'report'
  | 'administer'
  | 'operation.view'
  | 'operation.manage'
  | 'webhook.manage'
  | 'own'

/** Kinds of resources that a permission can name, each with the brand of its ids. */
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
  deviceOperation: 'd_op'
  webhook: 'wh'
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
    /**
     * Name of an input field with a person's id. If that id is the caller's own, any member of the resource's organization may run the
     * action.
     */
    orOneself?: FieldsBranded<Input, 'u'>
  }
}[ResourceKind]

/**
 * `anyone` needs no sign-in. `user` admits every signed-in person, `admin` every administrator of the instance, `device` every
 * device.
 */
type PlainPermission = 'anyone' | 'user' | 'admin' | 'device'

/**
 * Permission that an action requires. The object form requires a right on the resource whose id is in the input field named by
 * `id`.
 */
export type Permission<Input> = PlainPermission | ScopedPermission<Input>

/** Permission of any action, for code that handles all actions alike. `id` is not tied to the fields of an input type. */
export type AnyPermission = PlainPermission | { can: Right; on: ResourceKind; id: string; orOneself?: string }

/** The person who runs an action, as passed to `RecentSignIn.isNeeded`. */
type Person = { actor: 'User' | 'UserToken'; userId: string }

/**
 * Condition under which an action needs a session whose sign-in is younger than `RECENT_SIGN_IN_SECS`, or a session and the current
 * password in the input field `currentPassword` (docs/decisions.md, "Passwords and tokens"). User tokens are refused.
 */
export type RecentSignIn<Input> = {
  /** The condition in words, for the generated documents. */
  when: string
  isNeeded(input: Input, person: Person): boolean
}

/** `calls` per sliding window of `perSecs`; further calls get `RateLimited`. */
type Rate = { calls: number; perSecs: number }

/**
 * Rate limits by client IP (`perAddress`) and by signed-in person (`perPerson`). There is no limit by the account that the input names,
 * because anybody could exhaust it and so lock out the owner of the account.
 */
export type RateLimit = {
  perAddress?: Rate
  perPerson?: Rate
  /** Wire name of the action whose count this action shares. Both have the same rates. */
  countedAs?: string
}

/**
 * `query` reads, `command` writes and is audited, `telemetry` is sent by devices continuously and written in batches. `preference` stores a
 * display setting of a person; it is written often and has no audit row.
 */
export type ActionKind = 'query' | 'command' | 'telemetry' | 'preference'

/**
 * Brands of values that must not be stored in an audit row: strings whose schema is wrapped in `secret()`, and secrets with a
 * known prefix.
 */
type SecretBrand = 'secret' | 'u_sk' | 'u_session_sk' | 'deployment' | 'd_sk'

/** `true` if a value of this type may contain a secret at any depth, optional or not; else `never`. */
type HoldsSecret<Value> = Value extends string | number | boolean | null | undefined
  ? Value extends { [z.$brand]: infer Brands }
    ? keyof Brands & SecretBrand extends never
      ? never
      : true
    : never
  : // An expression contains expressions of any depth, and no secret.
    Value extends JsonExpr
    ? never
    : Value extends object
      ? { [K in keyof Value]: HoldsSecret<Value[K]> }[keyof Value]
      : never

type AuditableFields<Input> = {
  [K in keyof Input & string]: true extends HoldsSecret<Input[K]> ? never : K
}[keyof Input & string]

/**
 * Cost of a query, or of the work of a command before its transaction. A `scan` may read many rows to find a few, so it can last until the
 * statement timeout. `scan if filtered` scans only if `filter`, or that of `selection`, has a condition, or if `columns` has properties;
 * otherwise an index provides the sort order. `brief` may read many rows too, but for at most 2 s, one at a time for each person, and only
 * while the request is open. Queries without a cost find their rows by key. A list that is called without `limit` is a scan as well, unless
 * it is `bounded`: a limit bounds its length, as that of the tokens of a person.
 */
export type QueryCost = 'scan' | 'scan if filtered' | 'bounded' | 'brief'

/** Definition of an action. The registry stores it under its wire name. */
export type Action<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType> = {
  kind: ActionKind
  summary: string
  input: Input
  output: Output
  permission: AnyPermission
  /** Input fields that are copied into the audit row; fields with secrets cannot be listed. */
  audit: readonly string[]
  /** Older names of the same action, which the hub accepts as well. */
  aliases: readonly string[]
  /** Output fields that contain a new secret, which no later call returns. */
  shownOnce: readonly string[]
  /** Values of the output's `result` that mean that nothing was done. The audit row of the command is then `Failed`. */
  failedResults: readonly string[]
  recentSignIn?: RecentSignIn<never>
  rateLimit?: RateLimit
  /** True if the action needs a session of a person: a user token alone cannot run it. */
  needsSession?: boolean
  /** True if the action creates a lasting record, which counts towards the caller's limit of creations. */
  isCreation?: boolean
  /** Cost of a query or command. The hub runs scans with a concurrency limit that all people share. */
  cost?: QueryCost
  /** Matches the values of `sort` for which a query is a scan, because no index may provide this sort order. */
  scanningSort?: RegExp
}

type Definition<Input extends z.ZodType, Output extends z.ZodType> = {
  summary: string
  input: Input
  output: Output
  permission: Permission<z.output<Input>>
  recentSignIn?: RecentSignIn<z.output<Input>>
  rateLimit?: RateLimit
  needsSession?: boolean
  aliases?: readonly string[]
  shownOnce?: readonly string[]
}

/** Values of `result` that an output can have. */
type ResultOf<Output> = Output extends { result: infer Result extends string } ? Result : never

type CommandDefinition<Input extends z.ZodType, Output extends z.ZodType> = Definition<Input, Output> & {
  cost?: 'scan if filtered'
  audit: readonly AuditableFields<z.output<Input>>[]
  failedResults?: readonly ResultOf<z.output<Output>>[]
  isCreation?: boolean
}

/** Declares an action that reads: no transaction, no audit row, safe to poll. */
export function query<Input extends z.ZodType, Output extends z.ZodType>(
  definition: Definition<Input, Output> & { cost?: QueryCost; scanningSort?: RegExp },
): Action<Input, Output> & { kind: 'query' } {
  return { aliases: [], shownOnce: [], failedResults: [], ...definition, kind: 'query', audit: [] }
}

/** Declares an action that writes. It runs in a transaction with its audit events and has an audit row with the outcome. */
export function command<Input extends z.ZodType, Output extends z.ZodType>(
  definition: CommandDefinition<Input, Output>,
): Action<Input, Output> & { kind: 'command' } {
  return { aliases: [], shownOnce: [], failedResults: [], ...definition, kind: 'command' }
}

/**
 * Declares an action that devices run on themselves continuously. Their calls are batched and not audited. A call by any other
 * caller runs like a command, with an audit row.
 */
export function telemetry<Input extends z.ZodType, Output extends z.ZodType>(
  definition: CommandDefinition<Input, Output>,
): Action<Input, Output> & { kind: 'telemetry' } {
  return { aliases: [], shownOnce: [], failedResults: [], ...definition, kind: 'telemetry' }
}

/**
 * Declares an action that stores a display setting of the caller, such as the columns of a list. It changes nothing that other people see,
 * so it has no audit row and no audit event.
 */
export function preference<Input extends z.ZodType, Output extends z.ZodType>(
  definition: Definition<Input, Output>,
): Action<Input, Output> & { kind: 'preference' } {
  return { aliases: [], shownOnce: [], failedResults: [], ...definition, kind: 'preference', audit: [] }
}

/** An optional field: absent and `null` mean the same (docs/api.md 1.7). */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform(value => value ?? undefined)
}

/** An optional text. A blank text counts as absent (docs/api.md 1.7). */
export function optionalText(schema: z.ZodString) {
  // With `abort`, text that is not blank and violates `schema` gets only the messages of `schema`, and none about `blank`.
  const blank = z.string().regex(new RegExp(BLANK_TEXT), { abort: true })
  return z
    .union([schema, blank])
    .nullish()
    .transform(value => (value?.trim() ? value : undefined))
}

/** Marks a string that must never reach an audit row or a log. The brand exists only for the compiler. */
export function secret<Schema extends z.ZodString>(schema: Schema) {
  return schema.brand<'secret'>()
}

/**
 * Optional input fields of every list. A call without any of them returns the whole list (docs/decisions.md, "Actions and
 * audit"). `sorts` are the names of the fields by which a list can be sorted. A list with other sort orders passes the schema of `sort`.
 */
export function listInput<Filter extends z.ZodType>(sorts: readonly string[] | z.ZodString, filter: Filter) {
  const sort = 'regex' in sorts ? sorts : z.enum([...sorts, ...sorts.map(name => `-${name}`)])
  return {
    limit: optional(z.int().min(1).max(MAX_PAGE_SIZE)).describe('Maximum number of items.'),
    cursor: optionalText(
      text(MAX_CURSOR_LENGTH).regex(/^[A-Za-z0-9_-]*$/, 'expected the `nextCursor` of a page'),
    ).describe('`nextCursor` of the previous page.'),
    sort: optional(sort).describe(sort.description ?? 'Field to sort by, descending with a leading `-`.'),
    filter: optional(filter),
  }
}

/** Filter of lists whose items have a name and an id. */
export const TextFilter = z.object({
  text: optionalText(text(MAX_FILTER_LENGTH)).describe('Part of a name or id.'),
})

/** Output fields of every list besides its items. */
export const listOutput = {
  nextCursor: z.string().optional().describe('Pass as `cursor` for the next page; absent on the last one.'),
  total: z.int().optional().describe('Number of items that match the filter.'),
}
