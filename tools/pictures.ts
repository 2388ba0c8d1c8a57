// Takes pictures of every screen that the browser tests check, light and dark, 1440 and 390 pixels wide, and writes an index page:
// `npm run pictures [folder]`. `e2e/readme.pictures.ts` renews the pictures of README.md.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const LOOKS = ['1440-light', '1440-dark', '390-light', '390-dark']

const root = join(import.meta.dirname, '..')
const folder = resolve(process.argv[2] ?? 'pictures')
mkdirSync(folder, { recursive: true })
for (const name of readdirSync(folder)) if (name.endsWith('.png')) rmSync(join(folder, name))

run('node', ['tools/build-console.ts'])
const isGood = run('vitest', ['run', '--project', 'pictures'])
const screens = Map.groupBy(
  readdirSync(folder).filter(name => name.endsWith('.png')),
  name => name.replace(/-\d+-(light|dark)\.png$/, ''),
)
writeFileSync(join(folder, 'index.html'), indexPage())
const incomplete = [...screens].filter(([, files]) => files.length < LOOKS.length).map(([screen]) => screen)
process.stdout.write(`${screens.size} screens: ${join(folder, 'index.html')}\n`)
if (incomplete.length > 0)
  process.stdout.write(`without all ${LOOKS.length} pictures: ${incomplete.join(', ')}\n`)
process.exitCode = isGood && incomplete.length === 0 ? 0 : 1

function run(command: string, options: string[]): boolean {
  const { status } = spawnSync(command, options, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, E2E_PICTURES: folder },
  })
  return status === 0
}

/** All screens in the order of their names, with the four screenshots of each screen beside each other. */
function indexPage(): string {
  const names = [...screens.keys()].sort()
  const links = names.map(name => `<a href="#${name}">${name}</a>`).join(' ')
  const sections = names.map(name => {
    const pictures = LOOKS.map(look => {
      const file = `${name}-${look}.png`
      if (!screens.get(name)!.includes(file)) return `<figure class="none">${look}</figure>`
      const width = look.startsWith('390') ? 'narrow' : 'wide'
      return `<figure class="${width}"><a href="${file}"><img loading="lazy" src="${file}" alt="${name}, ${look}"></a><figcaption>${look}</figcaption></figure>`
    })
    return `<section id="${name}"><h2>${name}</h2><div>${pictures.join('')}</div></section>`
  })
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Screens of Muster</title>
<style>
body { margin: 24px; font: 14px/20px system-ui, sans-serif; color: #171c24; background: #faf9f6 }
nav { columns: 5 200px; margin-bottom: 24px } nav a { display: block; color: #1d4bc0 }
section { margin-bottom: 32px } h2 { font-size: 15px; margin: 0 0 8px }
section div { display: flex; gap: 12px; align-items: flex-start; overflow-x: auto }
figure { margin: 0; flex: none } figcaption { font-size: 12px; color: #636870 }
img { display: block; width: 100%; border: 1px solid #d3d2cc; border-radius: 6px }
.wide { width: 560px } .narrow { width: 200px } .none { width: 120px; color: #ae1419 }
</style>
<h1>${names.length} screens of Muster</h1>
<nav>${links}</nav>
${sections.join('\n')}
</html>
`
}
