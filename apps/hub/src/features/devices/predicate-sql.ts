import { ActionError } from '@muster/actions'
import {
  type COMPARISONS,
  DEVICE_FIELDS,
  type DeviceFieldName,
  fieldOf,
  type Json,
  type JsonExpr,
  type JsonPath,
  LABELS,
  partsOf,
  readRequirement,
} from '@muster/predicates'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../platform/database/client/connection.ts'
import { hasLabel, labelOfDevice, labelsOfDevice } from '../labels/index.ts'
import { DEVICE_SQL, LAST_END, UPDATE_SQL } from './device-sql.ts'

type Sql = RawBuilder<unknown>
type Comparison = (typeof COMPARISONS)[number]
type Requirement = Extract<JsonExpr, { kind: 'VersionRequirement' }>

/** Maximum number of different versions among the devices that a requirement is tried on. */
const MAX_VERSIONS = 10_000

/** The versions among some devices that meet each requirement of a predicate. */
export type MetVersions = ReadonlyMap<Requirement, readonly string[]>

/**
 * Reads the versions that meet the requirements of a predicate, because PostgreSQL cannot compare versions. `among` is a condition on the
 * devices `d`. Reads nothing for a predicate without requirements. Throws `Invalid` for more versions than can be tried.
 */
export async function metVersions(
  db: Db,
  predicate: JsonExpr,
  among: RawBuilder<boolean>,
  now: Date,
): Promise<MetVersions> {
  const met = new Map<Requirement, readonly string[]>()
  const visit = async (expr: JsonExpr): Promise<void> => {
    for (const [, inner] of partsOf(expr)) await visit(inner)
    if (expr.kind !== 'VersionRequirement') return
    const version = new PredicateSql(now, met).version(expr.expr)
    const { rows } = await sql<{ version: string }>`
      select distinct version from (select ${version} as version from device d where ${among}) found
       where version is not null limit ${MAX_VERSIONS + 1}`.execute(db)
    if (rows.length > MAX_VERSIONS)
      throw new ActionError(
        'Invalid',
        `The devices have more than ${MAX_VERSIONS} versions: filter the list.`,
        {
          status: 409,
        },
      )
    met.set(expr, rows.map(row => row.version).filter(readRequirement(expr.requirement)!))
  }
  await visit(predicate)
  return met
}

/**
 * Condition that a device meets a checked predicate (`problemsOf` of `@muster/predicates`), with the versions that meet its
 * requirements (`metVersions`). It is null or false where the predicate does
 * not hold or cannot be evaluated. The surrounding query must use the alias `d` for `device`.
 */
export function matchesPredicate(predicate: JsonExpr, met: MetVersions, now: Date): RawBuilder<boolean> {
  return sql<boolean>`(${new PredicateSql(now, met).condition(predicate, true)})`
}

/** SQL of the `jsonb` that a name in an expression stands for on the device `d`; null where the device does not have it. */
export function namedValue(name: string, now: Date): RawBuilder<Json | null> {
  return new PredicateSql(now, new Map()).named(name) as RawBuilder<Json | null>
}

/** SQL of expressions. A value is `jsonb`, and null where the device lacks it or it cannot be evaluated. */
class PredicateSql {
  readonly #now: Date
  readonly #met: MetVersions

  constructor(now: Date, met: MetVersions) {
    this.#now = now
    this.#met = met
  }

  /** The version that a value names; null if it names none. */
  version(expr: JsonExpr): Sql {
    return sql`(select case when t ~ '[0-9]' then t end from (select ${textOf(this.#value(expr))} as t) as version)`
  }

  /**
   * A condition, null where it cannot be evaluated. Where only devices for which it holds matter (`isLoose`), it may be false instead, so
   * that an index can serve it.
   */
  condition(expr: JsonExpr, isLoose: boolean): Sql {
    switch (expr.kind) {
      case 'And':
      case 'Or': {
        const parts = expr.exprs.map(part => sql`(${this.condition(part, isLoose)})`)
        return sql.join(parts, expr.kind === 'And' ? sql` and ` : sql` or `)
      }
      case 'Not':
        return sql`not (${this.condition(expr.expr, false)})`
      case 'Exists':
        return this.#exists(expr.expr, expr.path)
      case 'In':
        return this.#isIn(expr.left, expr.right, isLoose)
      case 'Contains':
        return this.#contains(expr)
      case 'VersionRequirement':
        // Nothing is in an empty list, not even null.
        return sql`(select case when v is not null then v = any (${this.#met.get(expr)!}::text[]) end
          from (select ${this.version(expr.expr)} as v) as one)`
      case 'Equals':
      case 'NotEquals':
      case 'LessThan':
      case 'LessThanOrEquals':
      case 'GreaterThan':
      case 'GreaterThanOrEquals':
        return this.#comparison(expr.left, expr.kind, expr.right, isLoose)
      default:
        // A truth value, null for any other.
        return sql`case ${this.#value(expr)} when 'true'::jsonb then true when 'false'::jsonb then false end`
    }
  }

  #value(expr: JsonExpr): Sql {
    switch (expr.kind) {
      case 'Literal':
        return jsonb(expr.value)
      case 'NamedValue':
        return this.#orDefault(this.named(expr.name), expr.default)
      case 'Get': {
        const label = labelOf(expr)
        return this.#orDefault(
          label === undefined
            ? atPath(this.#value(expr.expr), expr.path)
            : sql`to_jsonb(${labelOfDevice(label)})`,
          expr.default,
        )
      }
      case 'Ago':
        return jsonb(this.#ago(expr.secs))
      case 'Current':
        return sql`null::jsonb`
      default:
        return sql`to_jsonb(${this.condition(expr, false)})`
    }
  }

  #orDefault(value: Sql, fallback: JsonExpr | undefined): Sql {
    return fallback ? sql`coalesce(${value}, ${this.#value(fallback)})` : value
  }

  /** The value that a name stands for. */
  named(name: string): Sql {
    const field = fieldOf(name)
    if (field !== undefined) return this.#fieldJson(field as DeviceFieldName)
    if (name === LABELS) return labelsOfDevice
    return sql`(select p.value_json from device_property p where p.device_id = d.device_id and p.name = ${name})`
  }

  #fieldJson(field: DeviceFieldName): Sql {
    const value = this.#field(field)
    return DEVICE_FIELDS[field].type === 'time'
      ? sql`to_jsonb(to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`
      : sql`to_jsonb(${value})`
  }

  /** A field in the type of its column. */
  #field(field: DeviceFieldName): Sql {
    if (field in UPDATE_SQL)
      return sql`(select ${UPDATE_SQL[field as keyof typeof UPDATE_SQL]} from device_update u where u.device_id = d.device_id)`
    // A connected device is seen at this moment.
    if (field === 'lastSeen')
      return sql`case when d.is_connected then ${this.#now.toISOString()}::timestamptz else ${LAST_END} end`
    if (field === 'hostname') return sql`nullif(${DEVICE_SQL.hostname}, '')`
    return DEVICE_SQL[field as keyof typeof DEVICE_SQL]
  }

  #ago(secs: number): string {
    return new Date(this.#now.getTime() - secs * 1000).toISOString()
  }

  #exists(expr: JsonExpr, path: JsonPath): Sql {
    const field = expr.kind === 'NamedValue' && !expr.default ? fieldOf(expr.name) : undefined
    if (field !== undefined && path.length === 0)
      return sql`${this.#field(field as DeviceFieldName)} is not null`
    const label = labelOf({ kind: 'Get', expr, path })
    if (label !== undefined) return hasLabel(label)
    return sql`${atPath(this.#value(expr), path)} is not null`
  }

  #isIn(left: JsonExpr, right: JsonExpr, isLoose: boolean): Sql {
    if (right.kind === 'Literal' && Array.isArray(right.value) && right.value.length > 0) {
      const equal = right.value.map(
        value => sql`(${this.#comparison(left, 'Equals', { kind: 'Literal', value }, isLoose)})`,
      )
      return sql.join(equal, sql` or `)
    }
    const list = this.#value(right)
    return sql`case when ${this.#value(left)} is not null and jsonb_typeof(${list}) = 'array' then exists (
      select from jsonb_array_elements(case when jsonb_typeof(${list}) = 'array' then ${list} else '[]'::jsonb end) as element
       where element.value = ${this.#value(left)}) end`
  }

  #contains({ left, right, ignoreCase }: Extract<JsonExpr, { kind: 'Contains' }>): Sql {
    const [whole, part] = [left, right].map(side => {
      const text = textOf(this.#value(side))
      return ignoreCase ? sql`lower(${text} collate "C")` : text
    })
    return sql`strpos(${whole}, ${part}) > 0`
  }

  #comparison(left: JsonExpr, kind: Comparison, right: JsonExpr, isLoose: boolean): Sql {
    return (
      this.#comparedField(left, kind, right) ??
      (isLoose ? comparedLabel(left, kind, right) : undefined) ??
      (isLoose ? this.#comparedProperty(left, kind, right) : undefined) ??
      compared(this.#value(left), kind, this.#value(right))
    )
  }

  /** A field beside a constant of its type, compared in the type of its column. */
  #comparedField(left: JsonExpr, kind: Comparison, right: JsonExpr): Sql | undefined {
    const field = left.kind === 'NamedValue' && !left.default ? fieldOf(left.name) : undefined
    if (field === undefined || (right.kind !== 'Literal' && right.kind !== 'Ago')) return undefined
    const value = this.#field(field as DeviceFieldName)
    const { type } = DEVICE_FIELDS[field as DeviceFieldName]
    if (right.kind === 'Ago')
      return type === 'time'
        ? sql`date_trunc('milliseconds', ${value}) ${OPERATORS[kind]} ${this.#ago(right.secs)}::timestamptz`
        : undefined
    if (type === 'text' && typeof right.value === 'string')
      return sql`${value} collate "C" ${OPERATORS[kind]} ${right.value}`
    return type === 'boolean' && typeof right.value === 'boolean' && kind === 'Equals'
      ? sql`${value} = ${right.value}`
      : undefined
  }

  /** A property beside a text, a number or a truth value. The index of values serves these comparisons. */
  #comparedProperty(left: JsonExpr, kind: Comparison, right: JsonExpr): Sql | undefined {
    if (left.kind !== 'NamedValue' || left.default || fieldOf(left.name) !== undefined) return undefined
    if (right.kind !== 'Literal' || !isScalar(right.value)) return undefined
    const isOrder = kind !== 'Equals'
    if (isOrder && typeof right.value !== 'number') return undefined
    if (kind === 'NotEquals') return undefined
    // `jsonb` sorts texts below and truth values above all numbers.
    const isNumber = isOrder ? sql` and jsonb_typeof(p.value_json) = 'number'` : sql``
    return sql`exists (
      select from device_property p where p.device_id = d.device_id and p.name = ${left.name}
         and jsonb_scalar(p.value_json) ${OPERATORS[kind]} ${jsonb(right.value)}${isNumber})`
  }
}

/** Key of the label that an expression reads; undefined for other expressions. */
function labelOf(expr: JsonExpr): string | undefined {
  if (expr.kind !== 'Get' || expr.expr.kind !== 'NamedValue' || expr.expr.name !== LABELS) return undefined
  const [key] = expr.path
  return expr.path.length === 1 && typeof key === 'string' && !expr.expr.default ? key : undefined
}

/** A label that equals a text. The index of labels serves this comparison. */
function comparedLabel(left: JsonExpr, kind: Comparison, right: JsonExpr): Sql | undefined {
  const label = left.kind === 'Get' && !left.default ? labelOf(left) : undefined
  if (label === undefined || kind !== 'Equals' || right.kind !== 'Literal') return undefined
  return typeof right.value === 'string' ? hasLabel(label, sql`l.value = ${right.value}`) : undefined
}

const OPERATORS: Record<Comparison, Sql> = {
  Equals: sql`=`,
  NotEquals: sql`<>`,
  LessThan: sql`<`,
  LessThanOrEquals: sql`<=`,
  GreaterThan: sql`>`,
  GreaterThanOrEquals: sql`>=`,
}

/** Longest text, in characters of JSON, that the index of values certainly has (`jsonb_scalar`). */
const MAX_INDEXED = 400

function isScalar(value: Json): boolean {
  return (value === null || typeof value !== 'object') && JSON.stringify(value).length <= MAX_INDEXED
}

function jsonb(value: Json): Sql {
  return sql`${JSON.stringify(value)}::jsonb`
}

/** Equality of any two values, order of two numbers or two texts. Other values have no order: null. */
function compared(left: Sql, kind: Comparison, right: Sql): Sql {
  if (kind === 'Equals' || kind === 'NotEquals') return sql`${left} ${OPERATORS[kind]} ${right}`
  return sql`(select case
      when jsonb_typeof(l) = 'number' and jsonb_typeof(r) = 'number' then l ${OPERATORS[kind]} r
      when jsonb_typeof(l) = 'string' and jsonb_typeof(r) = 'string' then (l #>> '{}') collate "C" ${OPERATORS[kind]} (r #>> '{}')
    end from (select ${left} as l, ${right} as r) as pair)`
}

/** The text of a text value; null for any other. */
function textOf(value: Sql): Sql {
  return sql`(select case jsonb_typeof(v) when 'string' then v #>> '{}' end from (select ${value} as v) as one)`
}

/** The value at a path. A name finds members of objects only, a number elements of lists only. */
function atPath(value: Sql, path: JsonPath): Sql {
  return path.reduce<Sql>(
    (inner, part) =>
      typeof part === 'string'
        ? sql`${inner} -> ${part}::text`
        : // For PostgreSQL the element 0 of a text or number is this value itself.
          sql`(select case jsonb_typeof(v) when 'array' then v -> ${part}::integer end from (select ${inner} as v) as list)`,
    value,
  )
}
