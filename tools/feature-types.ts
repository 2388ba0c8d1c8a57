import type { AuditEvent } from './audit-events.ts'
import type { FeatureNames } from './features.ts'

/**
 * Text of `packages/actions/src/features.ts`, unformatted: types with the names of the jobs and the data of the audit events of each
 * feature of the hub. `contract` has the texts of the files in that folder. Throws for an event whose data names a type that none of them
 * exports, because clients of the hub do not know it.
 */
export function featureTypes(
  names: Record<string, FeatureNames>,
  events: readonly AuditEvent[],
  contract: Record<string, string>,
): string {
  const imports = new Set<string>()
  const eventsOf = Map.groupBy(events, ({ feature }) => feature)
  for (const { feature, name, data } of events)
    for (const [type] of data.replace(/\/\*.*?\*\//gs, '').matchAll(/\b[A-Z]\w*/g)) {
      const [file] = Object.entries(contract).find(([, text]) => text.includes(`export type ${type}`)) ?? []
      if (file === undefined)
        throw new Error(
          `${feature}/feature.ts: ${name} names ${type}, which packages/actions does not export`,
        )
      imports.add(`import type { ${type} } from './${file}'`)
    }
  return `// Written by \`npm run gen\` from the features of the hub.
${[...imports].sort().join('\n')}

/** Names of the background jobs of each feature of the hub. */
export type FeatureJobs = {
${Object.entries(names)
  .map(([feature, { jobs }]) => (jobs.length === 0 ? '' : `${feature}: ${union(jobs)}\n`))
  .join('')}}

/** Data of the audit events of each feature of the hub, by the name of the event. */
export type FeatureEvents = {
${[...eventsOf].map(([feature, own]) => `${feature}: {\n${own.map(({ name, data }) => `${name}: ${data}\n`).join('')}}\n`).join('')}}

/** Data of all audit events, by the name of the event. */
export type AuditEvents = ${[...eventsOf.keys()].map(feature => `FeatureEvents['${feature}']`).join(' & ')}
`
}

function union(names: readonly string[]): string {
  return names.map(name => `'${name}'`).join(' | ')
}
