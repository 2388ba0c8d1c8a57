// Packs the agent and the command line into one file each, muster-agent and muster, which need Node 24 and nothing else. Argument:
// the folder that they are put into, `dist` unless told otherwise.
import { chmodSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from 'vite'

const root = join(import.meta.dirname, '..')
const outDir = resolve(process.argv[2] ?? join(root, 'dist'))

for (const [name, app] of [
  ['muster-agent', 'agent'],
  ['muster', 'cli'],
] as const) {
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    // What runs on machines without a checkout brings its packages along.
    ssr: { noExternal: true },
    build: {
      ssr: join(root, 'apps', app, 'src/main.ts'),
      outDir,
      emptyOutDir: false,
      target: 'node24',
      rolldownOptions: {
        // A part of ws that makes it faster where it is installed.
        external: ['bufferutil', 'utf-8-validate'],
        output: { entryFileNames: name, banner: '#!/usr/bin/env node', codeSplitting: false },
      },
    },
  })
  const file = join(outDir, name)
  chmodSync(file, 0o755)
  process.stdout.write(`${file} (${(statSync(file).size / 1024).toFixed(0)} KiB)\n`)
}
