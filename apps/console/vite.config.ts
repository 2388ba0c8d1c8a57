import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const HUB = 'http://localhost:6878'

/** Fonts of the first paint, by the start of their file names. */
const PRELOADED = ['atkinson-hyperlegible-next-latin-wght-normal', 'geist-mono-latin-wght-normal']

/** Sources outside `pages` that only signed-in pages use. */
const SIGNED_IN_ONLY =
  /src\/(ui\/(Menu|Dialog|CreateButton|Toaster|Table|SearchBox|Filter|Refresh|Elapsed|Json|FormDialog|List|Segments|LiveStamp|Time|Stats|Card|Danger|Secret|Empty|Load|Section|Bread|Switch|Id|Badge|Mark|Page\.|SuggestBox|virtual|DateBox|FoldButton|MachineName|ComboBox|toast)|shell\/(Side|Theme|TopBar|User|initials)|lib\/(relative-time|format|clock|confirm|search|use-debounced|use-seen|open-window|cli-commands|shortcuts|age|use-is-narrow)|organization)/
/** Icons of the parts that public pages use; a group takes the icons of all pages else. */
const PUBLIC_ICONS =
  /icons\/(check|copy|eye|eye-off|info|circle-exclamation-point|circle-check|circle-x|triangle-exclamation-point|refresh-cw)\.m?js/

function isPublicKit(id: string): boolean {
  if (/packages\/actions/.test(id)) return true
  if (/lucide-react/.test(id)) return !/icons\//.test(id) || PUBLIC_ICONS.test(id)
  return /console\/src\/(?!pages)/.test(id) && !SIGNED_IN_ONLY.test(id)
}

/** Tells the browser of the two latin fonts before it has read the stylesheet. */
function preloadFonts(): Plugin {
  return {
    name: 'muster:preload-fonts',
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle = {} }) {
        const files = Object.keys(bundle).filter(file => PRELOADED.some(font => file.includes(`/${font}-`)))
        return files.map(file => ({
          tag: 'link',
          attrs: { rel: 'preload', href: `/${file}`, as: 'font', type: 'font/woff2', crossorigin: '' },
          injectTo: 'head',
        }))
      },
    },
  }
}

export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  plugins: [react(), preloadFonts()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: ['chrome120', 'firefox121', 'safari17.4'],
    cssTarget: ['chrome120', 'firefox121', 'safari17.4'],
    // Inline data would need `font-src data:` in the policy.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // What every page runs on, apart because it changes seldom.
            {
              name: 'base',
              test: /node_modules\/(react|react-dom|scheduler|@tanstack\/(?!.*(form|virtual)))|console\/src\/(theme|lib\/(held|stored))\.ts/,
              priority: 4,
            },
            { name: 'form', test: /@tanstack\/.*form|src\/lib\/form\.ts/, priority: 3 },
            // Dozens of small parts would be dozens of requests: what two pages share comes in one file, apart from
            // what only signed-in pages use.
            { name: 'kit', test: isPublicKit, minShareCount: 2, priority: 2 },
            // These take the bars of a loading page along, which the entry has: not in here, or the entry needs all.
            {
              name: 'parts',
              test: /console\/src\/(?!pages|ui\/(SectionBoundary|ListTable))|lucide-react/,
              minShareCount: 2,
              priority: 1,
            },
          ],
        },
      },
    },
  },
  server: { proxy: { '/api': HUB } },
})
