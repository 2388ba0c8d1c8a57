import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ScratchDatabase, scratchDatabase } from '@muster/testkit'
import { runHere } from '../../../commands/testing/run-here.ts'

const FIXTURES = join(import.meta.dirname, '../../database/fixtures')

/** Instance key that sealed the audit rows of the fixtures. */
export const FIXTURE_KEY = 'f1'.repeat(32)

/** Database of this release with at least one row in each table. */
export async function fixtureDatabase(): Promise<ScratchDatabase> {
  const database = await scratchDatabase('muster')
  for (const name of readdirSync(FIXTURES).toSorted())
    await database.query(readFileSync(join(FIXTURES, name), 'utf8'))
  return database
}

/** Runs a command of the hub, which must succeed, and returns its result. */
export async function done(
  words: readonly string[],
  settings: Record<string, string | undefined>,
  input = '',
): Promise<Record<string, unknown>> {
  const { code, out, err } = await runHere([...words, '--json'], settings, { input })
  if (code !== 0) throw new Error(`${words.join(' ')} failed: ${err}`)
  return JSON.parse(out) as Record<string, unknown>
}

/** Number of rows and a hash of each table, those left out that a restore or a start changes. */
export async function contentsOf(database: ScratchDatabase): Promise<Record<string, string>> {
  const tables = (await database.query(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
        and relname not in ('session', 'proxy_token', 'instance_setting', 'audit_event', 'bulk_action') order by 1`,
  )) as { name: string }[]
  const contents: Record<string, string> = {}
  for (const { name } of tables) {
    const [row] = await database.query(
      `select concat(count(*), ' ', sum(hashtextextended(t::text, 0)::numeric)) as hash from "${name}" t`,
    )
    contents[name] = (row as { hash: string }).hash
  }
  return contents
}

/** Definitions of all columns, constraints, indexes, triggers and functions of the hub. */
export async function schemaOf(database: ScratchDatabase): Promise<unknown[]> {
  return database.query(
    `select c.relname as name, c.relkind::text as kind, pg_get_expr(c.relpartbound, c.oid) as definition from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
     union all
     select c.relname, a.attname, concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
       from pg_attribute a join pg_class c on c.oid = a.attrelid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
     union all
     select conrelid::regclass::text, 'constraint', pg_get_constraintdef(oid) from pg_constraint
      where connamespace = 'public'::regnamespace and contype <> 'n'
     union all
     select i.indrelid::regclass::text, 'index', regexp_replace(pg_get_indexdef(indexrelid), 'INDEX \\S+', 'INDEX') from pg_index i
       join pg_class c on c.oid = i.indexrelid where c.relnamespace = 'public'::regnamespace
     union all
     select tgrelid::regclass::text, 'trigger', concat(pg_get_triggerdef(oid), tgenabled) from pg_trigger where not tgisinternal
     union all
     select proname, 'function', pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace
     order by 1, 2, 3`,
  )
}
