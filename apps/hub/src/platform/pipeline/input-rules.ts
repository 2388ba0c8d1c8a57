import { ActionError, MAX_PROPERTY_COLUMNS, type ParsedInput } from '@muster/actions'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Returns the error for an input that breaks a rule which its JSON schema cannot state, with an issue at the field `path`. */
export function ruleBroken(path: string, message: string): ActionError {
  return new ActionError('Invalid', message, { status: 409, issues: [{ path, message }] })
}

/** Throws `Invalid` (409) if a name is twice in the list at the field `path`. `what` names one entry, for example "property". */
export function requireDistinct(path: string, what: string, names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw ruleBroken(path, `Found the ${what} ${twice} twice, expected it once.`)
}

/** Throws `Invalid` (409) for a column of a device list that is there twice, and for too many columns of properties. */
export function requireListColumns(columns: ParsedInput<'users_SetView'>['columns'] = []): void {
  const properties = columns.flatMap(column => ('property' in column ? column.property : []))
  const others = columns.flatMap(column => ('column' in column ? column.column : []))
  requireDistinct('columns', 'property', properties)
  requireDistinct('columns', 'column', others)
  if (properties.length > MAX_PROPERTY_COLUMNS) {
    const message = `Found ${properties.length} columns of properties, expected at most ${MAX_PROPERTY_COLUMNS}.`
    throw ruleBroken('columns', message)
  }
}

/** Decodes the input of an action. Throws `Invalid` if it is not valid UTF-8. */
export function inputTextOf(input: Uint8Array): string {
  try {
    return decoder.decode(input)
  } catch (cause) {
    throw new ActionError('Invalid', 'The input is not valid UTF-8.', { cause })
  }
}
