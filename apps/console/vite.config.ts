import { basename } from 'node:path'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
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

export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  plugins: [react(), preloadFonts(), offlineFiles()],
  css: {
    modules: {
      // Readable in the browser: `TickRow-sign`. `tools/css-modules.test.ts` holds that no two modules have the same name.
      generateScopedName: (name, file) => `${basename(file, '.module.css')}-${name}`,
    },
  },
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
