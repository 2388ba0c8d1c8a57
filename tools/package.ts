// Bundles the agent and the command-line client into one file each, muster-agent and muster, which need only Node 24. The
// argument is the output folder, `dist` by default.
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { packApp } from './pack-app.ts'

const outDir = resolve(process.argv[2] ?? join(import.meta.dirname, '../dist'))

for (const [name, app] of [
  ['muster-agent', 'agent'],
  ['muster', 'cli'],
] as const) {
  const file = join(outDir, name)
  await packApp(app, file)
  process.stdout.write(`${file} (${(statSync(file).size / 1024).toFixed(0)} KiB)\n`)
}
