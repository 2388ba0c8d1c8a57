import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { CLASS_NAMES } from './class-names.ts'
import { loginFile } from './login-file.ts'
import { offlineFiles } from './offline-files.ts'

const HUB = 'http://localhost:6878'

/** Fonts that the first paint needs, as prefixes of their file names. */
const PRELOADED = ['atkinson-hyperlegible-next-latin-wght-normal', 'geist-mono-latin-wght-normal']

/** Preloads the two latin fonts, which the browser otherwise finds only after it has read the stylesheet. */
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

/** Code that every signed-in page loads after the main script. */
const SIGNED_IN = ['src/shell/app/Shell.tsx', 'src/api/lazy/open-session.ts'].map(path =>
  join(import.meta.dirname, path),
)

/** Lists the code of signed-in pages in the script of the index page, which preloads it in browsers where somebody is signed in. */
function preloadSignedIn(): Plugin {
  return {
    name: 'muster:preload-signed-in',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle }) {
        if (!bundle) return html
        const chunks = Object.values(bundle).filter(file => file.type === 'chunk')
        const code = chunks.filter(({ moduleIds }) => SIGNED_IN.some(path => moduleIds.includes(path)))
        const files = new Set(code.flatMap(({ fileName, imports }) => [fileName, ...imports]))
        const hrefs = [...files].map(file => `/${file}`).filter(href => !html.includes(href))
        return html.replace('of [])', () => `of ${JSON.stringify(hrefs)})`)
      },
    },
  }
}

export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  plugins: [react(), preloadFonts(), preloadSignedIn(), offlineFiles(), loginFile()],
  css: CLASS_NAMES,
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: ['chrome120', 'firefox121', 'safari17.4'],
    cssTarget: ['chrome120', 'firefox121', 'safari17.4'],
    // Inlined fonts would need `font-src data:` in the Content-Security-Policy.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // Libraries seldom change, so their files keep their names over many versions and stay in browser caches.
            {
              name: 'base',
              test: /node_modules\/(react|react-dom|scheduler|@tanstack\/(?!.*(form|virtual|table|pacer|devtools)))/,
              priority: 3,
            },
            // The library of forms is the only one that uses `pacer-lite` and `devtools-event-client`.
            { name: 'form', test: /@tanstack\/.*(form|pacer|devtools)/, priority: 3 },
            // The chunk `public` has the routes and the modules that every page may load, public pages included, and their imports.
            // `exact-json` is left out, because only pages of devices need it. Those of the folder `form`, which use the library of
            // forms, are left out, because signed-in pages need forms for dialogs only.
            {
              name: 'public',
              test: /console\/src\/((api|lib|shell|ui)\/)?[^/]+$|styles\/index\.css$|\/routes\.ts$|packages\/actions\/(?!src\/exact-json)/,
              priority: 2,
            },
            // The chunk `app` has the modules that signed-in pages share. Without it, their dozens of small modules and icons would be
            // dozens of requests.
            {
              name: 'app',
              test: /console\/src\/\w+\/app\/|styles\/app\.css$|lucide-react\/.*\/icons\//,
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
