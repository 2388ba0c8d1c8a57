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

/**
 * Code that signed-in pages load after the main script, by a pattern of their paths. The page of a device is of two dozen files, which would
 * be requested only when the main script has run (`npm run bench -- paint`: content 12 % earlier). For the list it made no difference.
 */
const PRELOADED_CODE = [
  { pattern: '', modules: ['src/shell/app/Shell.tsx', 'src/api/lazy/open-session.ts'] },
  {
    pattern: '^/[^/]+/projects/[^/]+/devices/d_[^/]+/?$',
    modules: [
      'src/pages/projects/ProjectLayout.tsx',
      'src/pages/devices/detail/DevicePage.tsx',
      'src/pages/devices/detail/prefetch-device.ts',
    ],
  },
]

/** Lists this code in the script of the index page, which preloads it in browsers where somebody is signed in. */
function preloadSignedIn(): Plugin {
  return {
    name: 'muster:preload-signed-in',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle }) {
        if (!bundle) return html
        const chunks = Object.values(bundle).filter(file => file.type === 'chunk')
        const isNew = (href: string, at: number, hrefs: string[]) =>
          !html.includes(href) && hrefs.indexOf(href) === at
        const lists = PRELOADED_CODE.map(({ pattern, modules }) => {
          const paths = modules.map(module => join(import.meta.dirname, module))
          const code = chunks.filter(({ moduleIds }) => paths.some(path => moduleIds.includes(path)))
          const names = code.flatMap(({ fileName, imports }) => [fileName, ...imports])
          return [pattern, names.map(name => `/${name}`).filter(isNew)]
        })
        return html.replace('of [])', () => `of ${JSON.stringify(lists)})`)
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
            // The chunk `app` has the modules that the pages of projects and of devices share, and tiny ones of rooms. Without it, their dozens of small modules and icons
            // would be dozens of requests.
            {
              name: 'app',
              test: /console\/src\/\w+\/app\/(?!(DeleteTokenButton|Dialog|ErrorBoundary|OtherOffset|Section|Switch|menu-props|open-window|out-of-hours|use-debounced|use-toggled|user-agent|joined-queries)\.)|styles\/app\.css$|lucide-react\/.*\/icons\/(?!(ban|building-2|circle-question-mark|circle-user|external-link|eye|file|file-input|gauge|history|info|link|link-2|lock|pause|pencil|pencil-line|shield-x|tag|trash-2|undo-2|webhook|workflow)\.)|pages\/devices\/(has-failed|shared\/([dD]evice-?[nN]ame|software-condition|deletions|proxy-link-hours))\.|pages\/bulk\/shared\/bulk-store\.|offline\/known-counts\.|accounts\/shared\/use-invitations\./,
              minShareCount: 2,
              priority: 1,
            },
            // The page of a device would otherwise be of two dozen small files that it shares with others. `parts` has parts of pages, `device` what
            // pages of devices share, `device-queries` what the loader sends. `exact-json` is requested alone by the list.
            { name: 'exact-json', test: /exact-json/, priority: 2 },
            {
              name: 'device-queries',
              test: /devices\/detail\/(prefetch-device|device-queries|property-names)\./,
              priority: 2,
            },
            {
              name: 'parts',
              test: /ui\/lazy\/(Breadcrumb|DangerZone|Elapsed|EntityHead|FactList|FoldButton|JsonValue|Moment|NewEntriesButton|SaveBar|SectionBoundary|SheetSkeleton|StateBadge|Table|UsedBar)\.|repositories\/shared\/VersionLink\./,
              minShareCount: 2,
              priority: 1,
            },
            // The list of devices and the parts that it loads later share these.
            {
              name: 'list',
              test: /pages\/devices\/(list\/(all-devices-input|attention|column-ids|column-view|columns\.module)|shared\/FoundText)|predicates\/src\/(device-fields|expr)/,
              minShareCount: 2,
            },
            // Modules of `app` folders and icons that other pages share.
            { name: 'dialogs', test: /console\/src\/\w+\/app\/|lucide-react\/.*\/icons\//, minShareCount: 2 },
            {
              name: 'device',
              test: /pages\/devices\/(detail\/(?!timeline\/)|shared\/use-proxy-link|SameError|tab-row|next-steps)|pages\/approvals\/shared\//,
              minShareCount: 2,
            },
          ],
        },
      },
    },
  },
  server: { proxy: { '/api': HUB } },
})
