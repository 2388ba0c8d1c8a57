/**
 * Table of the audit events for docs/api.md. `declarations` is the text of `apps/hub/src/audit/events.ts`. Throws for an event
 * whose docstring does not begin with "Written by", and for an event whose name is missing from all texts in `otherSources`.
 */
export function auditEventsMarkdown(declarations: string, otherSources: readonly string[]): string {
  const [, body = ''] = /^export type AuditEvents = \{\n(.*?)^\}/ms.exec(declarations) ?? []
  // The first line of a docstring or an event is indented by two spaces. The further lines of an event are indented by more.
  const parts = body.split(/^ {2}(?=[/\w])/m)
  const rows = parts.flatMap((part, at) => {
    const [, name, data] = /^(\w+):(.*)/s.exec(part) ?? []
    if (name === undefined) return []
    const [, writer] = /^\/\*\* Written by (.*)\. \*\/\n$/.exec(parts[at - 1]!) ?? []
    if (writer === undefined)
      throw new Error(`audit/events.ts: ${name} needs a docstring: /** Written by \`some_Action\`. */`)
    if (!otherSources.some(text => text.includes(`'${name}'`)))
      throw new Error(`audit/events.ts: no code writes ${name}: emit it, or delete it`)
    return `| \`${name}\` | ${fieldsOf(data!).join(', ')} | ${writer} |`
  })
  return ['| event | data | written by |', '|---|---|---|', ...rows].join('\n')
}

/** Names of the fields of an object type, without those of nested objects; optional ones end with `?`. */
function fieldsOf(type: string): string[] {
  const flat = type.replace(/(?<=: )\{.*?\}/gs, 'object')
  return [...flat.matchAll(/(\w+\??):/g)].map(([, field]) => field!)
}
