// Writes the files that are generated from the code: the list of action handlers, the API documents, the tables of audit
// events, limits and metrics, the table types and the checksums of migrations. With --check it writes nothing and fails if a file differs.
import { createHash } from 'node:crypto'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { actionsMarkdown, openApiDocument, permissionsMarkdown } from '@muster/actions/openapi'
import { startEmbeddedDatabase } from '@muster/hub/database/embedded'
import { migrate } from '@muster/hub/database/migrate'
import { limitsMarkdown } from '@muster/hub/limits'
import { createLog } from '@muster/hub/log'
import { metricsMarkdown } from '@muster/hub/metrics'
import { auditEventsMarkdown } from './audit-events.ts'
import { databaseTypes } from './database-types.ts'
import { featureFiles } from './features.ts'

const root = join(import.meta.dirname, '..')
/** Folder of the hub's features. */
const FEATURES = 'apps/hub/src/features'
const isCheck = process.argv.includes('--check')

for (const [file, text] of Object.entries(await featureFiles(join(root, FEATURES))))
  await put(`${FEATURES}/${file}`, text)
// The migrations make a queue for each kind of job, which the features declare.
await import('@muster/hub/features')
await put('docs/actions.md', actionsMarkdown())
await put('docs/permissions.md', permissionsMarkdown())
await put('docs/openapi.json', `${JSON.stringify(openApiDocument(), null, 2)}\n`)
await put('apps/hub/src/platform/database/schema.ts', await schemaOfMigrations())
await put(
  'apps/hub/src/platform/database/migrations.sha256',
  await migrationChecksums('apps/hub/src/platform/database'),
)
await put('docs/api.md', withTable('docs/api.md', await textOf('docs/api.md'), 'events', await auditEvents()))
await put(
  'docs/operating.md',
  withTable(
    'docs/operating.md',
    withTable('docs/operating.md', await textOf('docs/operating.md'), 'limits', limitsMarkdown()),
    'metrics',
    metricsMarkdown(),
  ),
)

/** Writes a file if its text differs, or reports it with --check. */
async function put(file: string, text: string): Promise<void> {
  const path = join(root, file)
  const before = await readFile(path, 'utf8').catch(() => '')
  if (before === text) return
  if (isCheck) {
    process.stderr.write(`${file} is not up to date: run npm run gen\n`)
    process.exitCode = 1
  } else {
    await writeFile(path, text)
    process.stdout.write(`${file} written\n`)
  }
}

/** Replaces the lines between two markers of a document by a table. */
function withTable(file: string, text: string, marker: string, table: string): string {
  const [begin, end] = [`<!-- ${marker}: written by npm run gen -->`, `<!-- ${marker} end -->`]
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  if (from < 0 || to < from) throw new Error(`${file} lacks the markers of ${marker}`)
  return `${text.slice(0, from)}${begin}\n${table}\n${text.slice(to)}`
}

function textOf(file: string): Promise<string> {
  return readFile(join(root, file), 'utf8')
}

async function auditEvents(): Promise<string> {
  const folder = join(root, 'apps/hub/src')
  const files = (await readdir(folder, { recursive: true })).filter(file => /(?<!\.test)\.ts$/.test(file))
  const texts = await Promise.all(
    files.sort().map(async file => [file, await readFile(join(folder, file), 'utf8')] as const),
  )
  const [declarations = [], others = []] = [true, false].map(isFeature =>
    texts.filter(([file]) => file.endsWith('/feature.ts') === isFeature),
  )
  return auditEventsMarkdown(
    Object.fromEntries(declarations),
    others.map(([, text]) => text),
  )
}

/** Adds a line for each new migration. The other lines stay, so that `fixtures.test.ts` reports a landed migration that was edited. */
async function migrationChecksums(folder: string): Promise<string> {
  const text = await textOf(`${folder}/migrations.sha256`)
  const names = (await readdir(join(root, folder, 'migrations'))).filter(name => name.endsWith('.sql'))
  const added = names
    .filter(name => !text.includes(name))
    .toSorted()
    .map(async name => {
      const sql = await textOf(`${folder}/migrations/${name}`)
      return `${createHash('sha256').update(sql).digest('hex')}  ${name}\n`
    })
  return text + (await Promise.all(added)).join('')
}

async function schemaOfMigrations(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-generate-'))
  // If this runs as root, PostgreSQL runs under another account, which must be able to enter the folder.
  await chmod(folder, 0o755)
  const log = createLog('error')
  try {
    await using database = await startEmbeddedDatabase(folder, log)
    await migrate(database.access.owner, log)
    return await databaseTypes(database.access.owner)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
