declare const isJson: unique symbol

/** Valid JSON text that is sent exactly as written. */
export type JsonText = string & { readonly [isJson]: true }

/** Returns the text if it is valid JSON, else undefined. */
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

/** JSON text of an object with these members. Undefined members are omitted. */
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
