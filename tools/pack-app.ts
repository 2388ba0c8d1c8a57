import { chmodSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { build } from 'vite'

const root = join(import.meta.dirname, '..')

/** Bundles an app of the workspace into one file, which needs only Node 24. */
export async function packApp(app: 'agent' | 'cli', file: string): Promise<void> {
  // Code at the start of each bundle. With a Node older than 24 it prints a one-line message and exits.
  const requireNode = readFileSync(join(import.meta.dirname, 'require-node.js'), 'utf8')
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    // Bundles all packages, because the target machine has no node_modules.
    ssr: { noExternal: true },
    build: {
      ssr: join(root, 'apps', app, 'src/main.ts'),
      outDir: dirname(file),
      emptyOutDir: false,
      // Emits syntax that Node 20 can parse. Otherwise Node 20 would report a syntax error instead of the version check's
      // message.
      target: 'node20',
      rolldownOptions: {
        // Optional native modules of the package ws, which works without them.
        external: ['bufferutil', 'utf-8-validate'],
        output: {
          entryFileNames: basename(file),
          banner: `#!/usr/bin/env node\n${requireNode}`,
          codeSplitting: false,
        },
      },
    },
  })
  chmodSync(file, 0o755)
}
