import { spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

it('O11: starts with a built console and a packed agent if Vite is installed and its plugin is not', async () => {
  const root = await mkdtemp(join(tmpdir(), 'muster-console-'))
  try {
    // Creates the state after `npm ci --omit=dev`: Vite is installed as a dependency of the test kit.
    for (const folder of [
      'tools',
      'node_modules/vite',
      'apps/agent/src',
      'apps/console/src',
      'packages/actions/src',
      'packages/concurrency/src',
      'packages/csv/src',
      'packages/link/src',
      'packages/predicates/src',
    ])
      await mkdir(join(root, folder), { recursive: true })
    await cp(join(import.meta.dirname, 'build-console.ts'), join(root, 'tools/build-console.ts'))
    await writeFile(join(root, 'package.json'), '{"type": "module"}')
    await writeFile(join(root, 'package-lock.json'), '{}')
    for (const name of ['pack-app.ts', 'require-node.js']) await writeFile(join(root, 'tools', name), '')
    await writeFile(join(root, 'apps/console/src/main.tsx'), '')
    const build = () => {
      const { status, stderr } = spawnSync(process.execPath, [join(root, 'tools/build-console.ts')], {
        encoding: 'utf8',
      })
      return { status, stderr }
    }
    expect(build()).toEqual({
      status: 1,
      stderr:
        'The console is not built and its build tools are not installed: run npm ci with development packages, or provide a built apps/console/dist.\n' +
        'The agent is not packed and its build tools are not installed: the hub serves no /install.sh. Provide a packed apps/agent/dist/muster-agent (npm run package).\n',
    })
    await mkdir(join(root, 'apps/console/dist'))
    await mkdir(join(root, 'apps/agent/dist'), { recursive: true })
    await writeFile(join(root, 'apps/agent/dist/muster-agent'), '')
    await writeFile(join(root, 'apps/console/dist/index.html'), '')
    expect(build()).toEqual({
      status: 0,
      stderr:
        'The console was built from other sources, and its build tools are not installed: it is served unchanged.\n' +
        'The agent was packed from other sources, and its build tools are not installed: it is served unchanged.\n',
    })
  } finally {
    await rm(root, { recursive: true })
  }
})
