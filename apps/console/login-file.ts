import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import react from '@vitejs/plugin-react'
import { build, type Plugin } from 'vite'

const PAGE = join(import.meta.dirname, 'src/pages/login/LoginPage.tsx')
const MARKUP = join(import.meta.dirname, 'src/pages/login/static-login.tsx')
const PLACE = '<!--login-->'

/**
 * Shows the static form, and keeps a submit until the page's own form takes it over (`use-static-form.ts`). Hides the form when another
 * page is shown, such as an error. Browsers without scripts never show it.
 */
const SCRIPT = `(() => {
        var page = document.getElementById('static')
        page.hidden = false
        page.onsubmit = event => {
          event.preventDefault()
          page.dataset.sent = ''
        }
        delete document.documentElement.dataset.boot
        new MutationObserver((_, observer) => {
          if (!document.querySelector('#root main')) return
          page.hidden = true
          observer.disconnect()
        }).observe(document.body, { childList: true, subtree: true })
      })()`

/**
 * Builds login.html, the index page with the markup of the sign-in page, which the hub sends for `/login`. Its form is painted and takes
 * input before the scripts have loaded. The markup is rendered from the same component.
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
      const chunk = Object.values(bundle).find(file => file.type === 'chunk' && file.facadeModuleId === PAGE)
      const code = chunk?.type === 'chunk' ? [chunk.fileName, ...chunk.imports] : []
      const preloads = code
        .filter(file => !html.includes(`"/${file}"`))
        .map(file => `<link rel="modulepreload" crossorigin href="/${file}">\n  `)
      // The replacements are functions, because `replace` interprets `$` in a replacement string.
      const source = html
        .replace(/<title>.*?<\/title>/, () => title)
        .replace('</head>', () => `${preloads.join('')}</head>`)
        .replace(
          PLACE,
          () => `<div id="static" hidden><!--banner-->${body}</div>\n    <script>${SCRIPT}</script>`,
        )
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
    ssr: { noExternal: true },
    build: { ssr: MARKUP, outDir: folder, emptyOutDir: false, copyPublicDir: false },
  })
  const script = (await readdir(folder)).find(name => name.startsWith('static-login.'))
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, script!)])
  const [title = ''] = /<title>.*?<\/title>/.exec(stdout) ?? []
  if (!title || !stdout.includes('<form')) throw new Error('the sign-in page has no title or no form')
  return { title, body: stdout.replace(title, '') }
}
