import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { byName } from './features.ts'

/** A table of the console that joins one table of each feature. */
type Joined = {
  /** Name of the files that have the parts, in any folder below `pages/`. */
  partsIn: string
  /** Finds the name of the part in such a file. */
  pattern: RegExp
  /** Text of the joined table, out of its imports and its members. */
  text: (imports: string, members: string) => string
}

const NOTE = '// Written by `npm run gen` from'

/** Pattern of an exported object that ends with `} … satisfies Type<`. Its lines are indented or empty. */
const satisfying = (end: string): RegExp =>
  new RegExp(`^export const (\\w+) = \\{\\n(?:(?: .*)?\\n)*\\} ${end}<`, 'm')

type Sentences = { type: string; table: string; fields: string; about: string }

/** A table of sentences in logs: the type of its parts, its own name, and the type with the fields that they may name. */
function sentences({ type, table, fields, about }: Sentences): Joined {
  return {
    partsIn: 'log-sentences.ts',
    pattern: satisfying(`as const satisfies ${type}`),
    text: (imports, members) => `${NOTE} the files log-sentences.ts of the features.
${imports}
import type { ${fields}, SentenceRow, WithKnownFields } from '../shared/sentence-row.ts'

const rows = {
${members}
}

/** ${about} A missing one does not compile. */
export const ${table} = rows satisfies WithKnownFields<typeof rows, ${fields}> as Record<
  string,
  SentenceRow
>
`,
  }
}

/** The joined tables, by their paths in `apps/console/src`. */
const TABLES: Record<string, Joined> = {
  'pages/audit/sentences/event-sentences.ts': sentences({
    type: 'EventSentences',
    table: 'EVENT_SENTENCES',
    fields: 'LoggedEvents',
    about: 'Sentences for all audit events, by the name of the event.',
  }),
  'pages/audit/sentences/action-phrases.ts': sentences({
    type: 'ActionPhrases',
    table: 'ACTION_PHRASES',
    fields: 'LoggedInputs',
    about: 'Phrases for all actions that leave an entry in a log when they fail, by the name of the action.',
  }),
  'pages/instance/jobs/job-words.ts': {
    partsIn: 'job-words.ts',
    pattern: /^export const (\w+): JobWords</m,
    text: (imports, members) => `${NOTE} the files job-words.ts of the features.
import type { FeatureJobs } from '@muster/actions/client'
${imports}
import type { JobWords, Words } from '../shared/words.ts'

/** Words for all kinds of jobs. A missing kind does not compile. */
export const JOB_WORDS: Record<string, Words> = {
${members}
} satisfies JobWords<keyof FeatureJobs>
`,
  },
  'api/lazy/live-queries.ts': {
    partsIn: 'live-queries.ts',
    pattern: satisfying('satisfies LiveQueries'),
    text: (imports, members) => `${NOTE} the files live-queries.ts of the features.
${imports}

/** Queries that live changes affect. A change causes a refetch of these on screen. */
export const LIVE_QUERIES = {
${members}
}
`,
  },
}

/** Declaration that a file of a feature exports, by the name of the file. */
const FORMS: Record<string, string> = {
  'log-sentences.ts':
    'export const … = { … } as const satisfies EventSentences<…>, or the same with ActionPhrases<…>',
  'job-words.ts': 'export const … : JobWords<…> = { … }',
  'live-queries.ts': 'export const … = { … } satisfies LiveQueries<…>',
}

/**
 * The generated files of the console, by their paths in `folder`, which is `apps/console/src`: tables that join those of all features.
 * Throws, with the name of the file, for a file of a feature that exports none.
 */
export async function consoleTables(folder: string): Promise<Record<string, string>> {
  const paths = (await readdir(join(folder, 'pages'), { recursive: true }))
    .map(path => `pages/${path}`)
    .filter(path => basename(path) in FORMS && !(path in TABLES))
  const texts = await Promise.all(paths.map(path => readFile(join(folder, path), 'utf8')))
  const files: Record<string, string> = {}
  const joined = new Set<string>()
  for (const [file, { partsIn, pattern, text }] of Object.entries(TABLES)) {
    const parts = paths.flatMap((path, at) => {
      const [, name] = (basename(path) === partsIn && pattern.exec(texts[at]!)) || []
      if (name === undefined) return []
      joined.add(path)
      return [{ name, from: relative(dirname(file), path) }]
    })
    parts.sort((a, b) => byName(a.from, b.from))
    files[file] = text(
      parts.map(({ name, from }) => `import { ${name} } from '${from}'`).join('\n'),
      parts.map(({ name }) => `  ...${name},`).join('\n'),
    )
  }
  const unjoined = paths.find(path => !joined.has(path))
  if (unjoined !== undefined) throw new Error(`${unjoined}: expected ${FORMS[basename(unjoined)]}`)
  return files
}
