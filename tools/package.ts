// Bundles the agent and the command-line client into one file each, muster-agent and muster, which need only Node 24. The
// argument is the output folder, `dist` by default.
import { chmodSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from 'vite'

const root = join(import.meta.dirname, '..')
/** Code at the start of each bundle. With a Node older than 24 it prints a one-line message and exits. */
const requireNode = readFileSync(join(import.meta.dirname, 'require-node.js'), 'utf8')
const outDir = resolve(process.argv[2] ?? join(root, 'dist'))

for (const [name, app] of [
  ['muster-agent', 'agent'],
  ['muster', 'cli'],
] as const) {
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    // Bundles all packages, because the target machine has no node_modules.
    ssr: { noExternal: true },
    build: {
      ssr: join(root, 'apps', app, 'src/main.ts'),
      outDir,
      emptyOutDir: false,
      // Emits syntax that Node 20 can parse. Otherwise Node 20 would report a syntax error instead of the version check's
      // message.
      target: 'node20',
      rolldownOptions: {
        // Optional native modules of the package ws, which works without them.
        external: ['bufferutil', 'utf-8-validate'],
        output: { entryFileNames: name, banner: `#!/usr/bin/env node\n${requireNode}`, codeSplitting: false },
      },
    },
  })
  const file = join(outDir, name)
  chmodSync(file, 0o755)
  process.stdout.write(`${file} (${(statSync(file).size / 1024).toFixed(0)} KiB)\n`)
}
