/** Where a version is, or a file of it when `filename` is there. */
export type RepositoryPath = { repository: string; package: string; tag: string; filename?: string }

/** Whether a word names a thing by its id, and not by its path (protocol 7.3). */
export function isRepositoryId(word: string, kind: 'repo' | 'pkg' | 'pkg_v' | 'repo_a'): boolean {
  return /^(repo|pkg|pkg_v|repo_a)_[1-9A-HJ-NP-Za-km-z]{22}$/.exec(word)?.[1] === kind
}

/**
 * What `repository/package/tag[/file]` names, for the look-ups by path; names of files may contain slashes. Undefined for any other
 * form. Without a schema library, so that command lines start quickly.
 */
export function parseRepositoryPath(path: string): RepositoryPath | undefined {
  const [repository, name, tag, ...file] = path.split('/')
  if (!repository || !name || !tag || file.includes('')) return undefined
  return { repository, package: name, tag, ...(file.length > 0 && { filename: file.join('/') }) }
}
