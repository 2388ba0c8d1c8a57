// Writes the files that are generated from the code: the list of features and their handlers, the types of jobs and audit events for
// clients, the console's tables of words, live queries and required members, the types of CSS Modules, the API documents, the tables of audit
// events, types of messages, limits and metrics, the table types and the checksums of migrations. With --check it writes nothing and fails if
// a file differs.
import { execFileSync } from 'node:child_process'
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
import {
  type AuditEvent,
  auditEventsIn,
  auditEventsMarkdown,
  messageTypesMarkdown,
  messageTypesText,
} from './audit-events.ts'
import { consoleTables } from './console-tables.ts'
import { moduleTypes } from './css-modules.ts'
import { databaseTypes } from './database-types.ts'
import { featureTypes } from './feature-types.ts'
import { featureFiles } from './features.ts'
import { requiredMembersTexts } from './required-members.ts'

const root = join(import.meta.dirname, '..')
/** Folder of the hub's features. */
const FEATURES = 'apps/hub/src/features'
/** Types of what the features give to clients. */
const FEATURE_TYPES = 'packages/actions/src/features.ts'
const CONSOLE = 'apps/console/src'
const isCheck = process.argv.includes('--check')

await generate().catch((error: unknown) => {
  // A plain error says what a declaration lacks, with its file. Errors of Node and of other classes keep their stack.
  if (!(error instanceof Error) || error.name !== 'Error' || 'code' in error) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
})

async function generate(): Promise<void> {
  const { files, names } = await featureFiles(join(root, FEATURES))
  for (const [file, text] of Object.entries(files)) await put(`${FEATURES}/${file}`, text)
  const events = await auditEvents()
  await put(FEATURE_TYPES, formatted(featureTypes(names, events, await textsIn('packages/actions/src'))))
  await put('biome.json', await bordersOfFeatures())
  for (const [file, text] of Object.entries(await consoleTables(join(root, CONSOLE))))
    await put(`${CONSOLE}/${file}`, text)
  const members = requiredMembersTexts()
  await put(`${CONSOLE}/api/app/required-members.ts`, formatted(members.first))
  await put(`${CONSOLE}/api/lazy/required-members.ts`, formatted(members.later))
  await put(`${CONSOLE}/pages/webhooks/message-types.ts`, formatted(messageTypesText(events)))
  for (const file of (await readdir(join(root, CONSOLE), { recursive: true })).filter(name =>
    name.endsWith('.module.css'),
  ))
    await put(`${CONSOLE}/${file}.d.ts`, moduleTypes(await textOf(`${CONSOLE}/${file}`)))
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
  await put(
    'docs/api.md',
    withTable('docs/api.md', await textOf('docs/api.md'), 'events', auditEventsMarkdown(events)),
  )
  await put(
    'docs/webhooks.md',
    withTable('docs/webhooks.md', await textOf('docs/webhooks.md'), 'types', messageTypesMarkdown(events)),
  )
  await put(
    'docs/operating.md',
    withTable(
      'docs/operating.md',
      withTable('docs/operating.md', await textOf('docs/operating.md'), 'limits', limitsMarkdown()),
      'metrics',
      metricsMarkdown(),
    ),
  )
}

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

/** Texts of the TypeScript files below a folder, by their paths in it, without those of tests. */
async function textsIn(folder: string): Promise<Record<string, string>> {
  const files = (await readdir(join(root, folder), { recursive: true })).filter(file =>
    /(?<!\.test)\.ts$/.test(file),
  )
  const texts = files.sort().map(async file => [file, await textOf(`${folder}/${file}`)] as const)
  return Object.fromEntries(await Promise.all(texts))
}

async function auditEvents(): Promise<AuditEvent[]> {
  const texts = Object.entries(await textsIn('apps/hub/src'))
  const [declarations = [], others = []] = [true, false].map(isFeature =>
    texts.filter(([file]) => file.endsWith('/feature.ts') === isFeature),
  )
  return auditEventsIn(
    Object.fromEntries(declarations),
    others.map(([, text]) => text),
  )
}

/** Formats the text of a TypeScript file with Biome. */
function formatted(text: string): string {
  const biome = join(root, 'node_modules/.bin/biome')
  return execFileSync(biome, ['format', `--stdin-file-path=${FEATURE_TYPES}`], {
    cwd: root,
    input: text,
    encoding: 'utf8',
  })
}

/** Biome's rules with the names of the features, behind whose `index.ts` other features must not look. */
async function bordersOfFeatures(): Promise<string> {
  const entries = await readdir(join(root, FEATURES), { withFileTypes: true })
  const names = entries.filter(entry => entry.isDirectory()).map(({ name }) => name)
  return (await textOf('biome.json')).replaceAll(
    // The lists of names, at whatever name they begin.
    /(?<=\*\*\/)\{(?:\w+,)*accounts,.*?\}/g,
    `{${names.sort().join(',')}}`,
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
