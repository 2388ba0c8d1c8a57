import type { ActionInput, ActionName, ActionOutput } from '@muster/actions/client'
import { type Command, InvalidArgumentError } from 'commander'
import type { CommandContext } from './cli.ts'
import { isObject, parseExactly } from './exact-json.ts'

/** Names of the actions that answer in pages. */
type ListAction = { [N in ActionName]: 'nextCursor' extends keyof ActionOutput<N> ? N : never }[ActionName]
/** What the list in an output holds. */
type ItemOf<Output> = {
  [Field in keyof Output]-?: Output[Field] extends (infer Item)[] ? Item : never
}[keyof Output]

const PAGE_SIZE = 500

/** A whole list, or its first `limit` items, a page at a time. */
export async function readList<N extends ListAction>(
  context: CommandContext,
  command: Command,
  name: N,
  input: ActionInput<N>,
  limit = Number.POSITIVE_INFINITY,
): Promise<ItemOf<ActionOutput<N>>[]> {
  const items: ItemOf<ActionOutput<N>>[] = []
  let cursor: string | undefined
  do {
    const size = Math.min(PAGE_SIZE, limit - items.length)
    const page = (await context.invoke(command, name, {
      ...input,
      limit: size,
      ...(cursor && { cursor }),
    })) as ActionOutput<N> & { nextCursor?: string | undefined }
    items.push(...(Object.values(page).find(Array.isArray) as ItemOf<ActionOutput<N>>[]))
    cursor = page.nextCursor
  } while (cursor !== undefined && items.length < limit)
  return items
}

/** A whole number of an option that is at least `min`. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return text => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(
      `Expected a whole number from ${min}${max < Number.MAX_SAFE_INTEGER ? ` to ${max}` : ''}.`,
    )
  }
}

/** Any JSON of an argument or option; its numbers are sent as they were written. */
export function json(text: string): unknown {
  try {
    return parseExactly(text)
  } catch {
    throw new InvalidArgumentError('Expected JSON, for example \'{"key": 1}\' or \'"text"\'.')
  }
}

/** A JSON object of an argument or option. */
export function jsonObject(text: string): Record<string, unknown> {
  const value = json(text)
  if (isObject(value)) return value
  throw new InvalidArgumentError('Expected a JSON object.')
}

/** `true` or `false`, as the public command line takes it. */
export function boolean(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  throw new InvalidArgumentError('Expected true or false.')
}
