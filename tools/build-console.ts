// Builds the console into apps/console/dist when its sources changed since the last build. Does nothing in an installation
// that has a built console and no build tools.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'apps/console/dist')
const stamp = join(dist, '.sources')

const hash = hashOf(['apps/console', 'packages/actions/src', 'packages/concurrency/src', 'package-lock.json'])
const isBuilt = existsSync(stamp) && readFileSync(stamp, 'utf8') === hash
// A production installation has Vite as a dependency of the test kit, but not Vite's React plugin, which only the console's
// development dependencies contain.
const canBuild = existsSync(join(root, 'node_modules/vite')) && existsSync(join(root, 'node_modules/@vitejs'))
if (!isBuilt) {
  if (canBuild) {
    process.stderr.write('Building the console…\n')
    const { build } = await import('vite')
    await build({ root: join(root, 'apps/console'), logLevel: 'warn' })
    compress(join(dist, 'assets'))
    writeFileSync(stamp, hash)
  } else if (existsSync(join(dist, 'index.html'))) {
    process.stderr.write(
      'The console was built from other sources, and its build tools are not installed: it is served unchanged.\n',
    )
  } else {
    process.stderr.write(
      'The console is not built and its build tools are not installed: run npm ci with development packages, or provide a built apps/console/dist.\n',
    )
    process.exitCode = 1
  }
}

function hashOf(paths: string[]): string {
  const hash = createHash('sha256')
  for (const file of paths.flatMap(path => filesIn(join(root, path))))
    hash.update(file).update('\0').update(readFileSync(file))
  return hash.digest('hex')
}

function filesIn(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter(entry => entry.name !== 'dist' && entry.name !== 'node_modules')
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap(entry => (entry.isDirectory() ? filesIn(join(path, entry.name)) : [join(path, entry.name)]))
  } catch {
    return [path]
  }
}

/**
 * Compresses the built assets, so that the hub need not compress them for each request. The strongest settings are slow, but each
 * file is compressed only once per build.
 */
function compress(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!/\.(js|css|svg|json|html)$/.test(name)) continue
    const content = readFileSync(join(folder, name))
    writeFileSync(join(folder, `${name}.gz`), gzipSync(content, { level: 9 }))
    writeFileSync(
      join(folder, `${name}.br`),
      brotliCompressSync(content, {
        params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
      }),
    )
  }
}
