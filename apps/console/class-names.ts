import { basename } from 'node:path'

/** Options of CSS Modules. Class names are readable in the browser: `TickRow-sign`. No two modules have the same name (tools/css-modules.test.ts). */
export const CLASS_NAMES = {
  modules: {
    generateScopedName: (name: string, file: string): string => `${basename(file, '.module.css')}-${name}`,
  },
}
