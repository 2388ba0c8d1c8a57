import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Plugin } from 'vite'

const SOURCES = join(import.meta.dirname, 'src/offline')

/**
 * Builds the service worker and the offline page. The offline page is one file, because the service worker stores nothing else. Both files
 * have fixed names, because browsers check for a new version of a service worker at its URL.
 */
export function offlineFiles(): Plugin {
  return {
    name: 'muster:offline-files',
    apply: 'build',
    async generateBundle() {
      const read = (path: string) => readFileSync(join(SOURCES, path), 'utf8')
      const styles = squeeze(['../styles/tokens.css', '../styles/base.css', 'offline.css'].map(read).join(''))
      const script = await bundle('offline.ts')
      // The replacements are functions, because `replace` interprets `$` in a replacement string.
      const page = read('offline.html')
        .replace('/* styles */', () => styles)
        .replace('/* script */', () => script)
      const version = createHash('sha256').update(page).digest('hex').slice(0, 12)
      const worker = await bundle('service-worker.ts', { OFFLINE_VERSION: JSON.stringify(version) })
      this.emitFile({ type: 'asset', fileName: 'offline.html', source: page })
      this.emitFile({ type: 'asset', fileName: 'sw.js', source: worker })
    },
  }
}

/** Bundles a module and the modules that it imports into one script. */
async function bundle(name: string, define: Record<string, string> = {}): Promise<string> {
  const result = await build({
    configFile: false,
    logLevel: 'warn',
    define,
    build: {
      write: false,
      copyPublicDir: false,
      rolldownOptions: { input: join(SOURCES, name), output: { format: 'iife' } },
    },
  })
  const outputs = [result].flat().flatMap(each => ('output' in each ? each.output : []))
  const [chunk] = outputs.filter(output => output.type === 'chunk')
  if (!chunk || outputs.length !== 1) throw new Error(`found ${outputs.length} files for ${name}, expected 1`)
  return chunk.code.trim()
}

/** Removes comments and indentation of a stylesheet. */
function squeeze(css: string): string {
  return css.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/\s*\n\s*/g, '')
}
