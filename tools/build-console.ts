// Builds the console into apps/console/dist and the packed agent into apps/agent/dist, each only if its sources changed since the last
// build. The hub serves both. Builds nothing in an installation without build tools.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const root = join(import.meta.dirname, '..')
// A production installation has Vite as a dependency of the test kit, but not Vite's React plugin, which only the console's
// development dependencies contain.
const canBuild = existsSync(join(root, 'node_modules/vite')) && existsSync(join(root, 'node_modules/@vitejs'))

await refresh({
  what: 'The console',
  verb: 'built',
  folder: join(root, 'apps/console/dist'),
  file: 'index.html',
  sources: [
    'apps/console',
    'packages/actions/src',
    'packages/concurrency/src',
    'packages/csv/src',
    'packages/predicates/src',
    'package-lock.json',
  ],
  missing:
    'The console is not built and its build tools are not installed: run npm ci with development packages, or provide a built apps/console/dist.\n',
  isRequired: true,
  async build(folder) {
    process.stderr.write('Building the console…\n')
    // A test that builds a release has another value, with which Vite bundles React's larger development version.
    process.env.NODE_ENV = 'production'
    const { build } = await import('vite')
    await build({ root: join(root, 'apps/console'), logLevel: 'warn' })
    compress(join(folder, 'assets'))
  },
})
await refresh({
  what: 'The agent',
  verb: 'packed',
  folder: join(root, 'apps/agent/dist'),
  file: 'muster-agent',
  sources: [
    'apps/agent/src',
    'packages/actions/src',
    'packages/concurrency/src',
    'packages/link/src',
    'packages/predicates/src',
    'tools/pack-app.ts',
    'tools/require-node.js',
    'package.json',
    'package-lock.json',
  ],
  missing:
    'The agent is not packed and its build tools are not installed: the hub serves no /install.sh. Provide a packed apps/agent/dist/muster-agent (npm run package).\n',
  isRequired: false,
  async build(folder) {
    process.stderr.write('Packing the agent…\n')
    const { packApp } = await import('./pack-app.ts')
    await packApp('agent', join(folder, 'muster-agent'))
  },
})

type Output = {
  what: string
  verb: 'built' | 'packed'
  folder: string
  /** File in `folder` that exists if the output was ever built. */
  file: string
  sources: string[]
  /** Message if the output does not exist and cannot be built. */
  missing: string
  /** Whether this program fails if the output is missing and cannot be built. */
  isRequired: boolean
  build: (folder: string) => Promise<void>
}

/** Builds an output if its sources differ from those of the last build, or says why it cannot be built. */
async function refresh({
  what,
  verb,
  folder,
  file,
  sources,
  missing,
  isRequired,
  build,
}: Output): Promise<void> {
  const stamp = join(folder, '.sources')
  const hash = hashOf(sources)
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return
  if (canBuild) {
    await build(folder)
    writeFileSync(stamp, hash)
  } else if (existsSync(join(folder, file))) {
    process.stderr.write(
      `${what} was ${verb} from other sources, and its build tools are not installed: it is served unchanged.\n`,
    )
  } else {
    process.stderr.write(missing)
    if (isRequired) process.exitCode = 1
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
