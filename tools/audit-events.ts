/** Audit event of a feature: the type of its data as text, and who writes it, for docs/api.md. */
export type AuditEvent = { feature: string; name: string; data: string; writer: string }

/**
 * Audit events that features declare. `declarations` has the texts of the files `feature.ts`, by their paths. Throws for an event whose
 * docstring does not begin with "Written by", for an event whose name is missing from all texts in `otherSources`, for a field with an id
 * that the event does not declare, and for a name that two features declare.
 */
export function auditEventsIn(
  declarations: Record<string, string>,
  otherSources: readonly string[],
): AuditEvent[] {
  const declared = new Map<string, string>()
  return Object.entries(declarations).flatMap(([file, text]) => {
    const events = eventsIn(file, text, otherSources)
    for (const { name } of events) {
      const other = declared.get(name)
      if (other !== undefined) throw new Error(`${file}: ${name} is declared in ${other} too`)
      declared.set(name, file)
    }
    return events
  })
}

/** Table of the audit events for docs/api.md. */
export function auditEventsMarkdown(events: readonly AuditEvent[]): string {
  const rows = events.map(
    ({ name, data, writer }) => `| \`${name}\` | ${fieldsOf(data).join(', ')} | ${writer} |`,
  )
  return ['| event | data | written by |', '|---|---|---|', ...rows].join('\n')
}

/** Features whose events belong to no organization, so that no webhook gets them. */
const OF_INSTANCE = ['accounts', 'instance', 'audit']

/** Table of the types of messages for docs/webhooks.md. */
export function messageTypesMarkdown(events: readonly AuditEvent[]): string {
  const rows = ofMessages(events).map(
    ({ name, data }) => `| \`${typeOf(name)}\` | ${fieldsOf(data).join(', ')} |`,
  )
  return ['| type | `data.data` |', '|---|---|', ...rows].join('\n')
}

/** Text of the console's list of the types of messages. */
export function messageTypesText(events: readonly AuditEvent[]): string {
  const types = ofMessages(events).map(({ name }) => `  '${typeOf(name)}',`)
  return `// Written by \`npm run gen\` from the features of the hub.

/** Types of messages that webhooks send. */
export const MESSAGE_TYPES: readonly string[] = [
${types.sort().join('\n')}
]
`
}

function ofMessages(events: readonly AuditEvent[]): AuditEvent[] {
  return events.filter(({ feature }) => !OF_INSTANCE.includes(feature))
}

/** Type of the message of an event. */
const typeOf = (name: string) => name.replace('_', '.')

function eventsIn(file: string, text: string, otherSources: readonly string[]): AuditEvent[] {
  const [, body = ''] = /^const events = \{\n(.*?)^\}/ms.exec(text) ?? []
  // The first line of a docstring or an event is indented by two spaces. The further lines of an event are indented by more.
  const parts = body.split(/^ {2}(?=[/\w])/m)
  return parts.flatMap((part, at) => {
    const [, name, data, ids] = /^(\w+): event<(.*)>\(\s*\{\s*ids: \[(.*?)\]/s.exec(part) ?? []
    if (name === undefined) {
      if (/^\w+:/.test(part))
        throw new Error(`${file}: expected event<…>({ ids: […] }), found ${part.split('\n')[0]}`)
      return []
    }
    const [, writer] = /^\/\*\* Written by (.*)\. \*\/\n$/.exec(parts[at - 1]!) ?? []
    if (writer === undefined)
      throw new Error(`${file}: ${name} needs a docstring: /** Written by \`some_Action\`. */`)
    if (!otherSources.some(text => text.includes(`'${name}'`)))
      throw new Error(`${file}: no code writes ${name}: emit it, or delete it`)
    const undeclared = fieldsOf(data!)
      .map(field => field.replace('?', ''))
      .find(field => field.endsWith('Id') && !ids!.includes(`'${field}'`))
    if (undeclared !== undefined)
      throw new Error(`${file}: ${name} does not declare ${undeclared}: add it to its ids`)
    return { feature: file.split('/').at(-2)!, name, data: data!, writer }
  })
}

/** Names of the fields of an object type, without those of nested objects; optional ones end with `?`. */
function fieldsOf(type: string): string[] {
  const flat = type.replace(/(?<=: )\{.*?\}/gs, 'object')
  return [...flat.matchAll(/(\w+\??):/g)].map(([, field]) => field!)
}
