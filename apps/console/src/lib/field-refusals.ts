import { ActionError } from '@muster/actions/client'

/**
 * The hub's validation messages for a rejected input, as pairs of field name and message. `undefined` if the error has no validation
 * messages, or has one for a field that is not in `fields`.
 */
export function fieldRefusals(error: unknown, fields: readonly string[]): [string, string][] | undefined {
  const issues = (error instanceof ActionError && error.issues) || []
  const isOfForm = issues.length > 0 && issues.every(({ path }) => fields.includes(path))
  return isOfForm ? issues.map(({ path, message }) => [path, asSentence(message)]) : undefined
}

/** Makes a sentence of a validation message such as "must have at most 64 characters": adds a capital letter and a full stop. */
function asSentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? '' : '.'}`
}
