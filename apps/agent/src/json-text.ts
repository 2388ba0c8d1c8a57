declare const isJson: unique symbol

/** Text that is valid JSON and is passed on exactly as it was written. */
export type JsonText = string & { readonly [isJson]: true }

/** The text as JSON text, or undefined when it is none. */
export function parseJsonText(text: string): JsonText | undefined {
  try {
    JSON.parse(text)
    return text as JsonText
  } catch {
    return undefined
  }
}

/** JSON text of a value. */
export function jsonTextOf(value: string | number | boolean | null): JsonText {
  return JSON.stringify(value) as JsonText
}

/** JSON text of an object with these members; those that are undefined are left out. */
export function jsonObject(members: Record<string, JsonText | undefined>): JsonText {
  const texts = Object.entries(members).flatMap(([key, text]) =>
    text === undefined ? [] : `${JSON.stringify(key)}:${text}`,
  )
  return `{${texts.join(',')}}` as JsonText
}

/** JSON text of a list of these items. */
export function jsonArray(items: JsonText[]): JsonText {
  return `[${items.join(',')}]` as JsonText
}
