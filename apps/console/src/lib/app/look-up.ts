/**
 * The entry of a table for an enum value from the hub, else `otherwise`. Hubs of other versions may send values that
 * this console does not know, so every such look-up uses this function.
 */
export function lookUp<Entry>(
  table: Readonly<Record<string, Entry>>,
  word: string,
  otherwise: NoInfer<Entry>,
): Entry {
  return Object.hasOwn(table, word) ? table[word]! : otherwise
}
