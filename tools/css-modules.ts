const GLOBAL = /:global\((?:[^()]|\([^()]*\))*\)/g

/** Names of the classes that the text of a CSS Module declares, sorted. Names within `:global()` belong to other sheets. */
export function classesIn(css: string): string[] {
  return classNames(selectorsIn(css).replaceAll(GLOBAL, ''))
}

/** Names of the global classes to which the text of a CSS Module refers, sorted. */
export function globalClassesIn(css: string): string[] {
  return classNames(selectorsIn(css).match(GLOBAL)?.join(' ') ?? '')
}

function selectorsIn(css: string): string {
  const text = css.replaceAll(/\/\*.*?\*\//gs, '').replaceAll(/"[^"]*"/g, '')
  return text.match(/[^{};]+(?=\{)/g)?.join(' ') ?? ''
}

function classNames(selectors: string): string[] {
  return [...new Set([...selectors.matchAll(/\.([a-zA-Z][\w-]*)/g)].map(([, name]) => name!))].sort()
}

/** Text of the declaration file of a CSS Module, so that a class that it lacks does not compile. */
export function moduleTypes(css: string): string {
  return `declare const styles: {\n${classesIn(css)
    .map(name => `  readonly ${name}: string\n`)
    .join('')}}\nexport default styles\n`
}
