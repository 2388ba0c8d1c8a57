import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const recipe = readFileSync(
  join(ROOT, 'deploy/yocto/meta-muster/recipes-connectivity/muster-agent/muster-agent.bb'),
  'utf8',
)

it('names the licence of the project by its digest', () => {
  const digest = createHash('md5')
    .update(readFileSync(join(ROOT, 'LICENSE')))
    .digest('hex')
  expect(recipe).toContain(`file://LICENSE;md5=${digest}`)
})

it('installs example files that a release has, with a script without syntax errors', () => {
  const [, script] = /^do_install\(\) \{\n([\s\S]*?)^\}/m.exec(recipe)!
  execFileSync('sh', ['-n', '-c', script!])
  const files = [...script!.matchAll(/\$\{S\}\/examples\/(\S+)/g)].map(([, file]) => file!)
  expect(files).toHaveLength(2)
  for (const file of files) expect(existsSync(join(ROOT, 'apps/agent/examples', file)), file).toBe(true)
})
