import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ShippedPackage } from '../shipped-packages.ts'
import { ROOT, run } from './run.ts'

/** Package with the absolute path of its files on this machine. */
export type LocalPackage = ShippedPackage & { folder: string }

/**
 * Finds the files of packages. A package for another platform is not installed in this
 * checkout, so it is downloaded below `downloads`. Its hash must be the one of package-lock.json.
 */
export function downloadMissing(packages: readonly ShippedPackage[], downloads: string): LocalPackage[] {
  return packages.map(shipped => {
    const folder = folderOf(shipped, downloads)
    if (!existsSync(folder)) download(shipped, folder)
    return { ...shipped, folder }
  })
}

/** Lists the packages that are neither installed in this checkout nor downloaded. */
export function missingOf(packages: readonly ShippedPackage[], downloads: string): ShippedPackage[] {
  return packages.filter(shipped => !existsSync(folderOf(shipped, downloads)))
}

/** Folder of a package in this checkout, or of its version below `downloads` if it is for another platform. */
function folderOf({ id, path }: ShippedPackage, downloads: string): string {
  const installed = join(ROOT, path)
  return existsSync(installed) ? installed : join(downloads, id)
}

/** Copies a package without type declarations, source maps and the C headers of Node, which are for development. */
export function copyPackage({ folder, name }: LocalPackage, to: string): void {
  const isNode = name.startsWith('node-linux-')
  cpSync(folder, to, {
    recursive: true,
    verbatimSymlinks: true,
    filter: file =>
      !/\.d\.[cm]?ts$|\.map$/.test(file) && !(isNode && /\/(include|share|CHANGELOG\.md)$/.test(file)),
  })
}

function download({ id, integrity }: ShippedPackage, to: string): void {
  const draft = `${to}.draft`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { recursive: true })
  const [{ filename }] = JSON.parse(run('npm', ['pack', '--silent', '--json', id], draft)) as [
    { filename: string },
  ]
  const file = join(draft, filename)
  const found = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`
  if (found !== integrity)
    throw new Error(`${id}: found the hash ${found}, expected ${integrity} of package-lock.json.`)
  run('tar', ['-xzf', file, '--no-same-owner'], draft)
  // Archives of npm have one folder, `package`.
  renameSync(join(draft, 'package'), to)
  rmSync(draft, { recursive: true })
}
