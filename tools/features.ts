import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Sorts names as Biome's rule for imports demands. */
export const byName = (a: string, b: string): number => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)

/** Names of the handlers and jobs of a feature. */
export type FeatureNames = { actions: string[]; jobs: string[] }

/**
 * The generated files of the hub's features, by path: an index of the handlers and of the jobs of each feature, and `features/index.ts`,
 * which lists the features. Also the names in them, by feature. `folder` is `apps/hub/src/features`. Throws, with the name of the file, for
 * a handler or a job that is not exported under its wire name, or whose name another file declares too, for a job without a policy, and for a
 * folder without `feature.ts`.
 */
export async function featureFiles(
  folder: string,
): Promise<{ files: Record<string, string>; names: Record<string, FeatureNames> }> {
  const entries = await readdir(folder, { withFileTypes: true })
  const rooms = entries.filter(entry => entry.isDirectory()).map(({ name }) => name)
  const files: Record<string, string> = {}
  const names: Record<string, FeatureNames> = {}
  /** File of each handler and job, by its part and name. */
  const declared = new Map<string, string>()
  /** Features that declare a part, by the part. */
  const having: Record<'owners' | 'services' | 'onRestore', string[]> = {
    owners: [],
    services: [],
    onRestore: [],
  }
  for (const room of rooms.sort(byName)) {
    const feature = await textOf(join(folder, room, 'feature.ts'))
    if (!new RegExp(`^export const ${room} = defineFeature\\(`, 'm').test(feature))
      throw new Error(`${room}/feature.ts: expected export const ${room} = defineFeature(…)`)
    const given = feature.slice(feature.indexOf(`${room} = defineFeature(`))
    for (const [part, rooms] of Object.entries(having))
      if (new RegExp(`\\b${part}\\b`).test(given)) rooms.push(room)
    names[room] = { actions: [], jobs: [] }
    for (const [part, pattern, form] of PARTS) {
      const paths = await filesIn(join(folder, room, part))
      if (paths.length === 0) continue
      const uses = feature.includes(`import * as ${part} from './${part}/index.ts'`)
      if (!uses) throw new Error(`${room}/feature.ts: expected import * as ${part} from './${part}/index.ts'`)
      const exports = paths.map(async path => {
        const file = `${room}/${part}/${path}`
        const found = [...(await textOf(join(folder, file))).matchAll(pattern)]
        const [, exported, wireName] = found[0] ?? []
        if (found.length !== 1 || exported !== wireName) throw new Error(`${file}: expected ${form}`)
        return exported!
      })
      names[room][part] = await Promise.all(exports)
      for (const [at, name] of names[room][part].entries()) {
        const file = `${room}/${part}/${paths[at]}`
        const other = declared.get(`${part} ${name}`)
        if (other !== undefined) throw new Error(`${file}: ${name} is declared in ${other} too`)
        declared.set(`${part} ${name}`, file)
      }
      const lines = names[room][part].map((name, at) => `export { ${name} } from './${paths[at]}'\n`)
      files[`${room}/${part}/index.ts`] = `${NOTE} the files of this folder.\n${lines.join('')}`
    }
  }
  const all = (part: string): string[] => rooms.filter(room => files[`${room}/${part}/index.ts`])
  files['index.ts'] = `${NOTE} the file feature.ts of each folder.
import type { Owners } from '../platform/access/owners.ts'
import type { Cancellations } from '../platform/backup/restore.ts'
import type { Job } from '../platform/jobs/define-job.ts'
import type { JobName } from '../platform/jobs/jobs.ts'
import { type Feature, registerFeatures } from '../platform/pipeline/feature.ts'
import type { Handlers } from '../platform/pipeline/handler.ts'
import type { ServiceMakers } from '../platform/pipeline/services.ts'
${rooms.map(room => `import { ${room} } from './${room}/feature.ts'`).join('\n')}

/** All features of the hub. */
export const features: readonly Feature[] = registerFeatures({
${rooms.map(room => `  ${room},`).join('\n')}
})

/** Handlers of all actions. A missing one does not compile. */
export const handlers: Handlers = {
${all('actions')
  .map(room => `  ...${room}.actions,`)
  .join('\n')}
}

/** All kinds of jobs. A missing one does not compile. */
export const jobs: { [N in JobName]: Job<N> } = {
${all('jobs')
  .map(room => `  ...${room}.jobs,`)
  .join('\n')}
}

/** Finds the owners of every kind of resource. A missing kind does not compile. */
export const owners: Owners = {
${having.owners.map(room => `  ...${room}.owners,`).join('\n')}
}

/** Makes the services of all features. A missing one does not compile. */
${spread('export const services: ServiceMakers =', having.services, 'services')}

/** Functions that cancel the work of all features in a restored database. A missing one does not compile. */
${spread('export const cancellations: Cancellations =', having.onRestore, 'onRestore')}
`
  return { files, names }
}

/** Width of a line, as in `biome.json`. */
const LINE_WIDTH = 110

/** An object with the parts of features, on one line if it fits. */
function spread(start: string, features: readonly string[], part: string): string {
  const parts = features.map(room => `...${room}.${part}`)
  const line = `${start} { ${parts.join(', ')} }`
  return line.length <= LINE_WIDTH ? line : `${start} {\n${parts.map(one => `  ${one},\n`).join('')}}`
}

const NOTE = '// Written by `npm run gen` from'

/** Folders of a feature with one declaration a file: the declaration's pattern, and its form in words. */
const PARTS = [
  [
    'actions',
    /^export const (\w+) = handler\(\s*'(\w+)'/gm,
    "one handler: export const some_Action = handler('some_Action', …)",
  ],
  [
    'jobs',
    /^export const (\w+) = defineJob\(\{\s*name: '(\w+)',\s*(?:\/\/.*\s*)*policy\b/gm,
    "one job: export const some_Job = defineJob({ name: 'some_Job', policy, run })",
  ],
] as const

async function filesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter(name => /^\w+\.ts$/.test(name) && name !== 'index.ts').sort(byName)
}

async function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '')
}
