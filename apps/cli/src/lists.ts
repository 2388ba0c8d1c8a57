import type { ActionInput, ActionName, ActionOutput } from '@muster/actions/client'
import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

/** Names of the paginated actions, whose output has `nextCursor`. */
type ListAction = { [N in ActionName]: 'nextCursor' extends keyof ActionOutput<N> ? N : never }[ActionName]
/** Type of the items in the list that an action's output contains. */
type ItemOf<Output> = {
  [Field in keyof Output]-?: Output[Field] extends (infer Item)[] ? Item : never
}[keyof Output]

const PAGE_SIZE = 500

/** Reads a whole list page by page, or its first `limit` items. */
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
