import pg from 'pg'

/** TypeScript types for each PostgreSQL type: `read` for selected values, and `write` for written values if they differ. */
const TYPES: Record<string, { read: string; write?: string }> = {
  text: { read: 'string' },
  _text: { read: 'string[]' },
  bytea: { read: 'Buffer' },
  bool: { read: 'boolean' },
  int4: { read: 'number' },
  _int4: { read: '(number | null)[]' },
  int8: { read: 'number' },
  float8: { read: 'number' },
  date: { read: 'Date', write: 'string' },
  timestamptz: { read: 'Date', write: 'Date | string' },
  _timestamptz: { read: '(Date | null)[]' },
  json: { read: 'RawJson', write: 'string' },
  jsonb: { read: 'JsonValue', write: 'string' },
}

type Column = { table: string; column: string; type: string; nullable: boolean; hasDefault: boolean }

/** Types of a migrated database's tables for Kysely: the text of `apps/hub/src/platform/database/schema.ts`. */
export async function databaseTypes(connection: pg.PoolConfig): Promise<string> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    const { rows } = await client.query<Column>(`
      select t.relname as "table", a.attname as "column", ty.typname as "type",
             not a.attnotnull as "nullable", a.atthasdef as "hasDefault"
        from pg_class t
        join pg_namespace n on n.oid = t.relnamespace and n.nspname = 'public'
        join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
        join pg_type ty on ty.oid = a.atttypid
       where t.relkind in ('r', 'p') and not t.relispartition
       order by t.relname, a.attnum`)
    const tables = Map.groupBy(rows, row => row.table)
    return [
      '// Generated from the migrated database by `npm run gen`; do not edit.',
      "import type { RawJson } from '@muster/actions/exact-json'",
      "import type { ColumnType, Generated } from 'kysely'",
      '',
      'type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }',
      '',
      ...[...tables].flatMap(([table, columns]) => [
        `type ${typeName(table)} = {`,
        ...columns.map(column => `  ${column.column}: ${columnType(column)}`),
        '}',
        '',
      ]),
      '/** Every table of the hub, as Kysely reads and writes it. */',
      'export type Tables = {',
      ...[...tables.keys()].map(table => `  ${table}: ${typeName(table)}`),
      '}',
      '',
    ].join('\n')
  } finally {
    await client.end()
  }
}

function typeName(table: string): string {
  return `${table.replace(/(^|_)(\w)/g, (_match, _gap, letter: string) => letter.toUpperCase())}Row`
}

function columnType({ table, column, type, nullable, hasDefault }: Column): string {
  const known = TYPES[type]
  if (!known) throw new Error(`${table}.${column}: no TypeScript type is known for ${type}`)
  const orNull = nullable ? ' | null' : ''
  const read = known.read + orNull
  if (!known.write) return hasDefault ? `Generated<${read}>` : read
  const write = known.write + orNull
  return `ColumnType<${read}, ${write}${hasDefault ? ' | undefined' : ''}, ${write}>`
}
