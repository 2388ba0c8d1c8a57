import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import react from '@vitejs/plugin-react'
import { build, type Plugin } from 'vite'
import { CLASS_NAMES } from './class-names.ts'

const PAGE = join(import.meta.dirname, 'src/pages/login/LoginPage.tsx')
const MARKUP = join(import.meta.dirname, 'src/pages/login/static-login.tsx')
const PLACE = '<!--login-->'

/**
 * Builds login.html, the index page with the markup of the sign-in page, which the hub sends for `/login`. Its form is painted and takes
 * input before the scripts have loaded. The markup is rendered from the same component. The script in index.html keeps a submit for
 * `static-form.ts`, which takes the form over.
 */
export function loginFile(): Plugin {
  return {
    name: 'muster:login-file',
    apply: 'build',
    enforce: 'post',
    async generateBundle(_options, bundle) {
      const index = bundle['index.html']
      if (index?.type !== 'asset') throw new Error('found no index.html in the bundle')
      const html = String(index.source)
      if (!html.includes(PLACE)) throw new Error(`found no ${PLACE} in index.html`)
      const { title, body } = await renderPage()
      const chunks = Object.values(bundle).filter(file => file.type === 'chunk')
      const page = chunks.find(({ facadeModuleId }) => facadeModuleId === PAGE)
      const code = chunks.filter(chunk => chunk === page || page?.imports.includes(chunk.fileName))
      const styles = code.flatMap(({ viteMetadata }) => [...(viteMetadata?.importedCss ?? [])])
      const isMissing = (file: string): boolean => !html.includes(`"/${file}"`)
      const links = [
        ...styles.filter(isMissing).map(file => `<link rel="stylesheet" crossorigin href="/${file}">`),
        ...code
          .map(({ fileName }) => fileName)
          .filter(isMissing)
          .map(file => `<link rel="modulepreload" crossorigin href="/${file}">`),
      ]
      // The replacements are functions, because `replace` interprets `$` in a replacement string.
      const source = html
        .replace(/<title>.*?<\/title>/, () => title)
        .replace('</head>', () => `${links.map(link => `  ${link}\n`).join('')}  </head>`)
        .replace(PLACE, () => `<div id="static"><!--banner-->${body}</div>`)
      index.source = html.replace(PLACE, '')
      this.emitFile({ type: 'asset', fileName: 'login.html', source })
    },
  }
}

/** Renders the sign-in page in a process of its own, because its modules open channels that would keep this one alive. */
async function renderPage(): Promise<{ title: string; body: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-login-'))
  await using _removed = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
  await build({
    root: import.meta.dirname,
    configFile: false,
    logLevel: 'warn',
    plugins: [react()],
    css: CLASS_NAMES,
    ssr: { noExternal: true },
    build: { ssr: MARKUP, outDir: folder, emptyOutDir: false, copyPublicDir: false },
  })
  const script = (await readdir(folder)).find(name => name.startsWith('static-login.'))
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, script!)])
  const [title = ''] = /<title>.*?<\/title>/.exec(stdout) ?? []
  if (!title || !stdout.includes('<form')) throw new Error('the sign-in page has no title or no form')
  return { title, body: stdout.replace(title, '') }
}
