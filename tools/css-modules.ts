/** Names of the classes that the text of a CSS Module declares, sorted. Names within `:global()` belong to other sheets. */
export function classesIn(css: string): string[] {
  const selectors = css
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/"[^"]*"/g, '')
    .matchAll(/[^{};]+(?=\{)/g)
  const names = [...selectors].flatMap(([selector]) =>
    [...selector.replaceAll(/:global\((?:[^()]|\([^()]*\))*\)/g, '').matchAll(/\.([a-zA-Z][\w-]*)/g)].map(
      ([, name]) => name!,
    ),
  )
  return [...new Set(names)].sort()
}

/** Text of the declaration file of a CSS Module, so that a class that it lacks does not compile. */
export function moduleTypes(css: string): string {
  return `declare const styles: {\n${classesIn(css)
    .map(name => `  readonly ${name}: string\n`)
    .join('')}}\nexport default styles\n`
}
