import { isRepositoryId, parseRepositoryPath, type RepositoryPath } from '@muster/actions/client'
import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { CliError, EXIT } from './errors.ts'

/** Resolves a repository's name or id to its id. Throws `CliError` if the repository does not exist. */
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

/** Resolves `repository/package` or an id to the package's id. Throws `CliError` if the package does not exist. */
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

/** Resolves `repository/package/tag` or an id to the version's id. Throws `CliError` if the version does not exist. */
export async function versionIdOf(context: CommandContext, command: Command, path: string): Promise<string> {
  if (isRepositoryId(path, 'pkg_v')) return path
  const found = await context.invoke(command, 'repositories_ResolveVersionByPath', versionPath(path))
  if (found.result === 'NotFound') throw missing(`version "${path}"`)
  return found.versionId
}

/** Parses `repository/package/tag`. Throws `CliError` for text of another form. */
export function versionPath(path: string): RepositoryPath {
  const found = parseRepositoryPath(path)
  if (!found || found.filename !== undefined) throw wrongPath(path, 'repository/package/tag')
  return found
}

/** Resolves `repository/package/tag/file` or an id to the blob's id, with the file name if it is known. */
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
  return new CliError(`There is no ${what}, or you may not see it.`)
}
