import type { Command } from 'commander'
import { jsonObject } from '../arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { CliError } from '../errors.ts'
import { assetOf } from '../paths.ts'

type Metadata = Record<string, unknown>

/**
 * Describes one of the two resources that have files, a package or a version: the words of its commands, the look-up of its id, and the
 * actions on its files.
 */
type FileHolder = {
  word: 'package' | 'version'
  description: string
  idOf: (context: CommandContext, command: Command, path: string) => Promise<string>
  add: (
    command: Command,
    id: string,
    file: { assetId: string; filename: string; metadata?: Metadata },
  ) => Promise<{ result: 'Added' | 'FilenameAlreadyExists' }>
  remove: (command: Command, id: string, file: { filename: string }) => Promise<object>
  setMetadata: (
    command: Command,
    id: string,
    file: { filename: string; metadata: Metadata },
  ) => Promise<object>
}

/** Adds the command group `assets` below `packages` or `versions`, for the files of a package or of a version. */
export function addFileCommands(parent: Command, context: CommandContext, holder: FileHolder): void {
  const { print } = context
  const { word, description, idOf } = holder
  const group = parent.command('assets').description(description)
  group
    .command(`add <${word}> <asset> <filename>`)
    .description('add a stored blob under a file name')
    .option('--metadata <json>', 'any JSON object', jsonObject)
    .action(
      async (
        path: string,
        asset: string,
        filename: string,
        options: { metadata?: Metadata },
        command: Command,
      ) => {
        const id = await idOf(context, command, path)
        const { assetId } = await assetOf(context, command, asset)
        const answer = await holder.add(command, id, { assetId, filename, ...options })
        if (answer.result === 'FilenameAlreadyExists')
          throw new CliError(`The file "${filename}" exists already.`)
        print(command, answer, 'Added.')
      },
    )
  group
    .command(`remove <${word}> <filename>`)
    .description('remove a file')
    .action(async (path: string, filename: string, _: object, command: Command) => {
      const id = await idOf(context, command, path)
      print(command, await holder.remove(command, id, { filename }), 'Removed.')
    })
  group
    .command(`set-metadata <${word}> <filename>`)
    .argument('<json>', 'any JSON object', jsonObject)
    .description('replace the metadata of a file')
    .action(async (path: string, filename: string, metadata: Metadata, _: object, command: Command) => {
      const id = await idOf(context, command, path)
      print(command, await holder.setMetadata(command, id, { filename, metadata }), 'Changed.')
    })
}
