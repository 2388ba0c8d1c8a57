import { realpath, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { isRepositoryId } from '@muster/actions/client'
import type { Command } from 'commander'
import { wholeNumber } from '../arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { CliError, EXIT, exitCodeOf, messageOf } from '../errors.ts'
import { readList } from '../lists.ts'
import { assetOf, repositoryIdOf, versionIdOf } from '../paths.ts'
import { createProgress } from '../progress.ts'
import { isFinal } from '../retry.ts'
import type { Uploaded } from '../upload.ts'

/** Adds the command group `assets`: upload and download of blobs of a repository. */
export function addAssetCommands(parent: Command, context: CommandContext): void {
  const { invoke, print, printTable } = context
  const group = parent.command('assets').description('stored blobs of a repository')
  group
    .command('list <repository>')
    .description('list blobs, newest first')
    .action(async (repository: string, _: object, command: Command) => {
      const repositoryId = await repositoryIdOf(context, command, repository)
      printTable(command, await readList(context, command, 'repositories_QueryAssets', { repositoryId }), [
        { title: 'Id', of: row => row.assetId },
        { title: 'Bytes', of: row => row.size },
        { title: 'Status', of: row => row.status },
        { title: 'Digest', of: row => row.digest },
      ])
    })
  group
    .command('info <asset>')
    .description('show a blob')
    .action(async (path: string, _: object, command: Command) => {
      const { assetId } = await assetOf(context, command, path)
      print(command, await invoke(command, 'repositories_GetAssetDetails', { assetId }))
    })
  group
    .command('delete <asset>')
    .description('delete a blob that no version and no package uses')
    .action(async (path: string, _: object, command: Command) => {
      const { assetId } = await assetOf(context, command, path)
      print(command, await invoke(command, 'repositories_DeleteAsset', { assetId }), 'Deleted.')
    })
  group
    .command('issue-upload-url <asset>')
    .description('print short-lived links for uploading the bytes of a blob')
    .action(async (path: string, _: object, command: Command) => {
      const { assetId } = await assetOf(context, command, path)
      print(command, await invoke(command, 'repositories_IssueAssetUploadUrl', { assetId }))
    })
  group
    .command('upload <target> <files...>')
    .description('upload files into a repository, or into a version: repository or repository/package/tag')
    .option('--parallel <count>', 'number of uploads at once', wholeNumber(1, 16), 3)
    .action(async (target: string, files: string[], { parallel }: { parallel: number }, command: Command) => {
      const isVersion = target.includes('/') || isRepositoryId(target, 'pkg_v')
      const versionId = isVersion ? await versionIdOf(context, command, target) : undefined
      const { repositoryId } = versionId
        ? await invoke(command, 'repositories_GetVersionDetails', { versionId })
        : { repositoryId: await repositoryIdOf(context, command, target) }
      const outcomes = await uploadAll(
        context,
        command,
        repositoryId,
        files,
        parallel,
        async (path, { assetId }) => {
          if (!versionId) return
          const filename = basename(path)
          const input = { versionId, assetId, filename }
          const { result } = await invoke(command, 'repositories_AddVersionAsset', input)
          if (result === 'Added') return
          const { assets } = await invoke(command, 'repositories_GetVersionDetails', { versionId })
          if (!assets.some(has => has.filename === filename && has.assetId === assetId))
            throw new CliError(`The version has another file "${filename}".`)
        },
      )
      printTable(command, outcomes, [
        { title: 'File', of: row => row.file },
        { title: 'Asset', of: row => row.assetId },
        { title: 'Bytes', of: row => row.size },
        { title: 'Result', of: row => row.result },
      ])
    })
  group
    .command('download <asset>')
    .description('download a file and verify it: repository/package/tag/file')
    .option('-o, --output <file>', 'path to write to (default: its own name in this folder)')
    .option('--force', 'replace an existing file')
    .action(async (path: string, options: { output?: string; force?: boolean }, command: Command) => {
      const { assetId, filename } = await assetOf(context, command, path)
      // `basename()` prevents a file name from the hub from leading out of the current folder.
      const name = options.output ?? basename(filename ?? assetId)
      // Resolves a symbolic link, so that the download replaces its target and not the link.
      const to = await realpath(name).catch(() => resolve(name))
      const there = await stat(to).catch(() => undefined)
      // A folder, or a device such as /dev/null, must not be replaced by a file.
      if (there && !there.isFile())
        throw new CliError(`Found something other than a file at ${name}.`, { exitCode: EXIT.usage })
      if (there && !options.force)
        throw new CliError(`The file ${name} exists already; --force replaces it.`, { exitCode: EXIT.usage })
      const { download } = await import('../download.ts')
      const progress = await createProgress(context)
      try {
        const transferOf = (size: number) => progress.start(name, size)
        const done = await download(context, command, { assetId, path: to, transferOf })
        print(command, done, `${name}: ${done.size} bytes, ${done.digest}`)
      } finally {
        progress.stop()
      }
    })
}

type Outcome = Uploaded & { file: string }

/** Uploads files, several at once. If one fails the others continue, and the first failure is thrown at the end. */
async function uploadAll(
  context: CommandContext,
  command: Command,
  repositoryId: string,
  files: readonly string[],
  parallel: number,
  afterwards: (path: string, uploaded: Uploaded) => Promise<void>,
): Promise<Outcome[]> {
  const { upload } = await import('../upload.ts')
  const progress = await createProgress(context)
  const outcomes: Outcome[] = []
  const failures: { file: string; error: unknown }[] = []
  const waiting = [...files]
  const work = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const path = file
      try {
        const transferOf = (size: number) => progress.start(basename(path), size)
        const uploaded = await upload(context, command, { repositoryId, path, transferOf })
        await afterwards(path, uploaded)
        outcomes.push({ file: path, ...uploaded })
      } catch (error) {
        failures.push({ file: path, error })
      }
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(parallel, files.length) }, work))
  } finally {
    progress.stop()
  }
  const [first, ...others] = failures
  if (!first) return outcomes.sort((one, other) => files.indexOf(one.file) - files.indexOf(other.file))
  const more = others.length > 0 ? ` (and ${others.length} more failed)` : ''
  const advice = isFinal(first.error) ? '' : ' Run the same command again to continue.'
  throw new CliError(`${first.file}: ${messageOf(first.error)}${more}${advice}`, {
    exitCode: exitCodeOf(first.error),
    cause: first.error,
  })
}
