import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { auditEventsIn } from './audit-events.ts'
import { consoleTables } from './console-tables.ts'
import { featureFiles } from './features.ts'

/** Runs `work` in a folder with files of the given texts. */
async function inFolder<T>(files: Record<string, string>, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-declarations-'))
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const featureOf = (name: string, parts = 'actions'): string =>
  `import * as ${parts} from './${parts}/index.ts'\nexport const ${name} = defineFeature({ ${parts} })\n`
const handler = "export const notes_Set = handler('notes_Set', async () => ({}))\n"
const job =
  "export const notes_Sweep = defineJob({\n  name: 'notes_Sweep',\n  // Each hour.\n  policy: RECURRING,\n})\n"

it.each<[string, Record<string, string>, string]>([
  [
    'the same action',
    {
      'notes/feature.ts': featureOf('notes'),
      'notes/actions/Set.ts': handler,
      'tags/feature.ts': featureOf('tags'),
      'tags/actions/Set.ts': handler,
    },
    'tags/actions/Set.ts: notes_Set is declared in notes/actions/Set.ts too',
  ],
  [
    'the same job',
    {
      'notes/feature.ts': featureOf('notes', 'jobs'),
      'notes/jobs/Sweep.ts': job,
      'notes/jobs/SweepAgain.ts': job,
    },
    'notes/jobs/SweepAgain.ts: notes_Sweep is declared in notes/jobs/Sweep.ts too',
  ],
  [
    'an action under another name',
    {
      'notes/feature.ts': featureOf('notes'),
      'notes/actions/Set.ts': handler.replace('const notes_Set', 'const set'),
    },
    'notes/actions/Set.ts: expected one handler: ',
  ],
  [
    'jobs that the feature does not import',
    { 'notes/feature.ts': 'export const notes = defineFeature({})\n', 'notes/jobs/Sweep.ts': job },
    "notes/feature.ts: expected import * as jobs from './jobs/index.ts'",
  ],
  [
    'a job without a policy',
    {
      'notes/feature.ts': featureOf('notes', 'jobs'),
      'notes/jobs/Sweep.ts': job.replace('policy: RECURRING', 'run'),
    },
    'notes/jobs/Sweep.ts: expected one job: ',
  ],
  [
    'no feature',
    { 'notes/actions/Set.ts': handler },
    'notes/feature.ts: expected export const notes = defineFeature(…)',
  ],
])('refuses %s, with the file', async (_what, files, message) => {
  await inFolder(files, folder => expect(featureFiles(folder)).rejects.toThrow(message))
})

const sentences = `export const noteEvents = {
  notes_Changed: {
    kind: 'device',
    say: 'changed a note',
  },
} as const satisfies EventSentences<'notes'>

export const noteActions = {
  notes_Set: { kind: 'device', say: 'change a note' },
} as const satisfies ActionPhrases<'notes'>
`
const liveQueries = `export const noteQueries = {
  notes_Query: { devices: 'deviceId' },
} satisfies LiveQueries<'notes'>
`

it('joins the words and live queries of the folders of the console', async () => {
  const files = {
    'pages/notes/log-sentences.ts': sentences,
    'pages/notes/parts/live-queries.ts': liveQueries,
    'pages/notes/job-words.ts': "export const noteJobs: JobWords<'notes'> = {}\n",
    'pages/instance/jobs/job-words.ts': 'export const JOB_WORDS = {}\n',
  }
  const tables = await inFolder(files, consoleTables)
  const lines = (file: string): string[] =>
    tables[file]!.split('\n').filter(line => /note/.test(line) && !line.startsWith('//'))
  expect(lines('pages/audit/sentences/event-sentences.ts')).toEqual([
    "import { noteEvents } from '../../notes/log-sentences.ts'",
    '  ...noteEvents,',
  ])
  expect(lines('pages/audit/sentences/action-phrases.ts')).toEqual([
    "import { noteActions } from '../../notes/log-sentences.ts'",
    '  ...noteActions,',
  ])
  expect(lines('pages/instance/jobs/job-words.ts')).toEqual([
    "import { noteJobs } from '../../notes/job-words.ts'",
    '  ...noteJobs,',
  ])
  expect(lines('api/lazy/live-queries.ts')).toEqual([
    "import { noteQueries } from '../../pages/notes/parts/live-queries.ts'",
    '  ...noteQueries,',
  ])
})

it.each([
  ['pages/notes/log-sentences.ts', sentences.replaceAll('as const satisfies', 'satisfies')],
  ['pages/notes/job-words.ts', 'export const noteJobs = {}\n'],
  ['pages/notes/live-queries.ts', liveQueries.replace('satisfies', 'as')],
])('refuses a file %s without its table', async (path, text) => {
  await inFolder({ [path]: text }, folder =>
    expect(consoleTables(folder)).rejects.toThrow(`${path}: expected export const … `),
  )
})

const eventsOf = (event: string): string => `const events = {\n${event}\n}\n`
const event = `  /** Written by \`notes_Set\`. */
  notes_Changed: event<{ deviceId: string }>({ ids: ['deviceId'] }),`

it.each<[string, Record<string, string>, string]>([
  [
    'an event of two features',
    { 'notes/feature.ts': eventsOf(event), 'tags/feature.ts': eventsOf(event) },
    'tags/feature.ts: notes_Changed is declared in notes/feature.ts too',
  ],
  [
    'an event without a docstring',
    { 'notes/feature.ts': eventsOf(event.split('\n')[1]!) },
    'notes/feature.ts: notes_Changed needs a docstring',
  ],
  [
    'an event without one of its ids',
    { 'notes/feature.ts': eventsOf(event.replace("'deviceId'", '')) },
    'notes/feature.ts: notes_Changed does not declare deviceId',
  ],
  [
    'an event that no code writes',
    { 'notes/feature.ts': eventsOf(event.replace('notes_Changed', 'notes_Removed')) },
    'notes/feature.ts: no code writes notes_Removed',
  ],
])('refuses %s, with the file', (_what, declarations, message) => {
  expect(() => auditEventsIn(declarations, ["emit('notes_Changed', { deviceId })"])).toThrow(message)
})
