/** Path of a package version, or of one of its files when `filename` is present. */
export type RepositoryPath = { repository: string; package: string; tag: string; filename?: string }

/** True if a text is an id of the given kind and not a path (docs/protocol.md 7.3). */
export function isRepositoryId(word: string, kind: 'repo' | 'pkg' | 'pkg_v' | 'repo_a'): boolean {
  return /^(repo|pkg|pkg_v|repo_a)_[1-9A-HJ-NP-Za-km-z]{22}$/.exec(word)?.[1] === kind
}

/**
 * Parses `repository/package/tag[/file]` for the look-ups by path. File names may contain slashes. Returns undefined for any
 * other form. Uses no schema library, so that command-line clients start quickly.
 */
export function parseRepositoryPath(path: string): RepositoryPath | undefined {
  const [repository, name, tag, ...file] = path.split('/')
  if (!repository || !name || !tag || file.includes('')) return undefined
  return { repository, package: name, tag, ...(file.length > 0 && { filename: file.join('/') }) }
}
