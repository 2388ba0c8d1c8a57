import type { ActionOutput } from '@muster/actions'
import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { CliError } from './errors.ts'
import { readList } from './lists.ts'

/** A saved view of the devices of a project, by its id or its name. Throws for no view, and for several of one name. */
export async function savedView(
  context: CommandContext,
  command: Command,
  projectId: string,
  view: string,
): Promise<ActionOutput<'views_Query'>['views'][number]> {
  const views = await readList(context, command, 'views_Query', { projectId })
  const found = views.filter(({ viewId, name }) => viewId === view || name === view)
  if (found.length === 1) return found[0]!
  if (found.length === 0) {
    const names = views.map(({ name }) => name).join(', ') || 'none'
    throw new CliError(`Found no view "${view}", expected one of: ${names}.`)
  }
  const ids = found.map(({ viewId }) => viewId).join(', ')
  throw new CliError(`Found ${found.length} views "${view}", expected the id of one: ${ids}.`)
}
