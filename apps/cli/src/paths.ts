import { isRepositoryId, parseRepositoryPath, type RepositoryPath } from '@muster/actions/client'
import type { Command } from 'commander'
import type { CommandContext } from './cli.ts'
import { CliError, EXIT } from './errors.ts'

/** The id of a repository that an argument names, by its name or id. Throws `CliError` when there is none. */
export async function repositoryIdOf(
  context: CommandContext,
  command: Command,
  repository: string,
): Promise<string> {
  if (isRepositoryId(repository, 'repo')) return repository
  const found = await context.invoke(command, 'repositories_ResolveName', { repository })
  if (found.result === 'NotFound') throw missing(`repository "${repository}"`)
  return found.repositoryId
}

/** The id of a package that an argument names as `repository/package`, or by its id. Throws `CliError` when there is none. */
export async function packageIdOf(context: CommandContext, command: Command, path: string): Promise<string> {
  if (isRepositoryId(path, 'pkg')) return path
  const [repository, name, ...rest] = path.split('/')
  if (!repository || !name || rest.length > 0) throw wrongPath(path, 'repository/package')
  const found = await context.invoke(command, 'repositories_ResolvePackageByPath', {
    repository,
    package: name,
  })
  if (found.result === 'NotFound') throw missing(`package "${path}"`)
  return found.packageId
}

/** The id of a version that an argument names as `repository/package/tag`, or by its id. Throws `CliError` when there is none. */
export async function versionIdOf(context: CommandContext, command: Command, path: string): Promise<string> {
  if (isRepositoryId(path, 'pkg_v')) return path
  const found = await context.invoke(command, 'repositories_ResolveVersionByPath', versionPath(path))
  if (found.result === 'NotFound') throw missing(`version "${path}"`)
  return found.versionId
}

/** The parts of `repository/package/tag`. Throws `CliError`. */
export function versionPath(path: string): RepositoryPath {
  const found = parseRepositoryPath(path)
  if (!found || found.filename !== undefined) throw wrongPath(path, 'repository/package/tag')
  return found
}

/** The id of a blob that an argument names as `repository/package/tag/file`, or by its id, and its file name if it has one. */
export async function assetOf(
  context: CommandContext,
  command: Command,
  path: string,
): Promise<{ assetId: string; filename?: string }> {
  if (isRepositoryId(path, 'repo_a')) return { assetId: path }
  const { filename, ...version } = parseRepositoryPath(path) ?? {}
  if (!filename) throw wrongPath(path, 'repository/package/tag/file')
  const input = { ...(version as RepositoryPath), filename }
  const found = await context.invoke(command, 'repositories_ResolveVersionAssetByPath', input)
  if (found.result === 'NotFound') throw missing(`file "${path}"`)
  return { assetId: found.assetId, filename }
}

function wrongPath(path: string, expected: string): CliError {
  return new CliError(`Found "${path}", expected ${expected} or an id.`, { exitCode: EXIT.usage })
}

function missing(what: string): CliError {
  return new CliError(`There is no ${what}, or it is not yours to see.`)
}
