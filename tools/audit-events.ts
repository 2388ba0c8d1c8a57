/**
 * Table of the audit events for docs/api.md. `declarations` is the text of `apps/hub/src/platform/audit/events.ts`. Throws for an event
 * whose docstring does not begin with "Written by", for an event whose name is missing from all texts in `otherSources`, and for a field
 * with an id that the event does not declare.
 */
export function auditEventsMarkdown(declarations: string, otherSources: readonly string[]): string {
  const [, body = ''] = /^export const auditEvents = \{\n(.*?)^\}/ms.exec(declarations) ?? []
  // The first line of a docstring or an event is indented by two spaces. The further lines of an event are indented by more.
  const parts = body.split(/^ {2}(?=[/\w])/m)
  const rows = parts.flatMap((part, at) => {
    const [, name, data, ids] = /^(\w+): event<(.*)>\(\s*\{\s*ids: \[(.*?)\]/s.exec(part) ?? []
    if (name === undefined) {
      if (/^\w+:/.test(part))
        throw new Error(`platform/audit/events.ts: expected event<…>({ ids: […] }), found ${part.split('\n')[0]}`)
      return []
    }
    const [, writer] = /^\/\*\* Written by (.*)\. \*\/\n$/.exec(parts[at - 1]!) ?? []
    if (writer === undefined)
      throw new Error(`platform/audit/events.ts: ${name} needs a docstring: /** Written by \`some_Action\`. */`)
    if (!otherSources.some(text => text.includes(`'${name}'`)))
      throw new Error(`platform/audit/events.ts: no code writes ${name}: emit it, or delete it`)
    const undeclared = fieldsOf(data!)
      .map(field => field.replace('?', ''))
      .find(field => field.endsWith('Id') && !ids!.includes(`'${field}'`))
    if (undeclared !== undefined)
      throw new Error(`platform/audit/events.ts: ${name} does not declare ${undeclared}: add it to its ids`)
    return `| \`${name}\` | ${fieldsOf(data!).join(', ')} | ${writer} |`
  })
  return ['| event | data | written by |', '|---|---|---|', ...rows].join('\n')
}

/** Names of the fields of an object type, without those of nested objects; optional ones end with `?`. */
function fieldsOf(type: string): string[] {
  const flat = type.replace(/(?<=: )\{.*?\}/gs, 'object')
  return [...flat.matchAll(/(\w+\??):/g)].map(([, field]) => field!)
}
