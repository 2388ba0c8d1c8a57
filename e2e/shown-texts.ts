import type { Page } from 'playwright-core'
import type { SpecifiedText } from './specification-texts.ts'

/** The visible texts of a page. Texts for screen readers alone are left out. */
export type Shown = {
  /** Whole texts of elements and of text nodes. */
  texts: string[]
  headings: string[]
  /** Texts of the column headers of each table. */
  tables: string[][]
  /** The texts of elements and text nodes in each table row, as in `texts`. */
  rows: string[][]
  /** The `href` of the links in the main part. */
  links: string[]
}

/** Script for `page.evaluate` that returns `Shown`. */
const SHOWN = `(() => {
  const trimmed = text => text.replace(/\\s+/g, ' ').trim()
  const isSeen = element => element.checkVisibility() && !element.closest('.visually-hidden, script, style')
  const textOf = node => {
    if (node.nodeType === Node.TEXT_NODE) return node.data
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches('.visually-hidden, script, style') || !node.checkVisibility()) return ''
    return [...node.childNodes].map(textOf).join('')
  }
  const textsIn = root =>
    [root, ...root.querySelectorAll('*')]
      .filter(isSeen)
      .flatMap(element => [element, ...[...element.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE)])
      .map(node => trimmed(textOf(node)))
      .filter(text => text && text.length < 500)
  const all = selector => [...document.querySelectorAll(selector)].filter(isSeen)
  const textsOf = elements => elements.map(element => trimmed(textOf(element))).filter(Boolean)
  return {
    texts: [...new Set(textsIn(document.body))],
    headings: textsOf(all('h1, h2, h3, h4')),
    tables: all('table').map(table => textsOf([...table.querySelectorAll('th')])),
    rows: all('tbody tr').map(row => textsIn(row)),
    links: all('main a[href]').map(link => link.getAttribute('href')),
  }
})()`

/** Reads what a page shows at this moment. */
export function readShown(page: Page): Promise<Shown> {
  return page.evaluate(SHOWN)
}

/** Returns whether a text of the specification is shown: on a page, or in one of the confirmation prompts of the browser (`asked`). */
export function isShown(
  text: SpecifiedText,
  { texts, headings, tables, rows, links }: Shown,
  asked: readonly string[],
): boolean {
  if (typeof text === 'string') return texts.includes(text)
  if ('part' in text) return texts.some(one => one.includes(text.part))
  if ('heading' in text) return headings.includes(text.heading)
  if ('columns' in text) return tables.some(heads => isInOrder(text.columns, heads))
  if ('row' in text) return rows.some(row => text.row.every(one => row.includes(one)))
  if ('link' in text) return links.includes(text.link)
  return asked.includes(text.question)
}

/** Whether all `parts` are in `whole`, in their order. */
function isInOrder(parts: readonly string[], whole: readonly string[]): boolean {
  let from = 0
  return parts.every(part => {
    from = whole.indexOf(part, from) + 1
    return from > 0
  })
}
