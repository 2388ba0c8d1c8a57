import type { AuditEvent } from './audit-events.ts'
import type { FeatureNames } from './features.ts'

/**
 * Text of `packages/actions/src/features.ts`, unformatted: types with the names of the actions and jobs and the data of the audit events of
 * each feature of the hub. `contract` has the texts of the files in that folder. Throws for an event whose data names a type that none of
 * them exports, because clients of the hub do not know it.
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
      const [file] =
        Object.entries(contract).find(([, text]) => new RegExp(`^export type ${type}\\b`, 'm').test(text)) ??
        []
      if (file === undefined)
        throw new Error(
          `${feature}/feature.ts: ${name} names ${type}, which packages/actions does not export`,
        )
      imports.add(`import type { ${type} } from './${file}'`)
    }
  const unions = (part: keyof FeatureNames): string =>
    Object.entries(names)
      .filter(([, own]) => own[part].length > 0)
      .map(([feature, own]) => `${feature}: ${own[part].map(name => `'${name}'`).join(' | ')}\n`)
      .join('')
  return `// Written by \`npm run gen\` from the features of the hub.
${[...imports].sort().join('\n')}

/** Names of the actions of each feature of the hub. */
export type FeatureActions = {
${unions('actions')}}

/** Names of the background jobs of each feature of the hub. */
export type FeatureJobs = {
${unions('jobs')}}

/** Data of the audit events of each feature of the hub, by the name of the event. */
export type FeatureEvents = {
${[...eventsOf].map(([feature, own]) => `${feature}: {\n${own.map(memberOf).join('')}}\n`).join('')}}

/** Data of all audit events, by the name of the event. */
export type AuditEvents = ${[...eventsOf.keys()].map(feature => `FeatureEvents['${feature}']`).join(' & ')}
`
}

function memberOf({ name, data }: AuditEvent): string {
  return `${name}: ${data}\n`
}
