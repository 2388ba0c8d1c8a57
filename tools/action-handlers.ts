import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Returns the text of the generated file `apps/hub/src/features/handlers.ts`, which maps the wire name of each action to its handler. The
 * compiler compares it with the actions in packages/actions. Throws for a file that does not export exactly one handler under its wire
 * name.
 */
export async function actionHandlers(folder: string): Promise<string> {
  const files = (await readdir(folder, { recursive: true }))
    .filter(file => /\/actions\/\w+\.ts$/.test(file))
    // Sorts the imports of the generated file as Biome's import rule demands.
    .sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1))
  const bound = await Promise.all(
    files.map(async file => {
      const text = await readFile(join(folder, file), 'utf8')
      const exported = [...text.matchAll(/^export const (\w+) = handler\(\s*'(\w+)'/gm)]
      const [, name, wireName] = exported[0] ?? []
      if (exported.length !== 1 || name !== wireName)
        throw new Error(
          `${file} must export one handler: export const some_Action = handler('some_Action', …)`,
        )
      return { file, name: name! }
    }),
  )
  return `// Written by \`npm run gen\` from the files below this folder.
import type { Handlers } from '../platform/pipeline/handler.ts'
${bound.map(({ file, name }) => `import { ${name} } from './${file}'`).join('\n')}

export const handlers: Handlers = {
${bound.map(({ name }) => `  ${name},`).join('\n')}
}
`
}
