import { MAX_COLUMN_PATH_PARTS } from './limits.ts'

/** Longest name of a property, in characters (docs/protocol.md 4.1). */
export const MAX_PROPERTY_NAME_LENGTH = 256
/** Characters of the name of a property (docs/protocol.md 4.1). */
export const PROPERTY_NAME_TEXT = /^[a-zA-Z0-9][a-zA-Z0-9._-]*$/

/** True for a text that can be the name of a property. Needs no schema library, like the rest of `client.ts`. */
export function isPropertyName(text: string): boolean {
  return text.length <= MAX_PROPERTY_NAME_LENGTH && PROPERTY_NAME_TEXT.test(text)
}

/** Whether a path may be a column of a device list, or a property by which the list is sorted (`MAX_COLUMN_PATH_PARTS`). */
export function isColumnPath(path: string): boolean {
  return path.split('.').length <= MAX_COLUMN_PATH_PARTS
}
