import { ActionError } from '@muster/actions'

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

/** Decodes the input of an action. Throws `Invalid` if it is not valid UTF-8. */
export function inputTextOf(input: Uint8Array): string {
  try {
    return decoder.decode(input)
  } catch (cause) {
    throw new ActionError('Invalid', 'The input is not valid UTF-8.', { cause })
  }
}
