import { useMatch, useRouter, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'

/** Reads a search parameter from its text, which is `undefined` if the URL lacks it. */
type Parameter<Value extends string | undefined> = (text: string | undefined) => Value

/** Declaration of the search parameters of a page, by name. */
export type PageSearch = Record<string, Parameter<string | undefined>>

/** Search parameters of a page, as links to it and its own code name them. */
export type SearchOf<Page extends PageSearch> = { [Name in keyof Page]?: ReturnType<Page[Name]> | undefined }

/** A search parameter with any text. */
export function anyText(text: string | undefined): string | undefined {
  return text
}

/** A search parameter with one of the words. Without one of them it has the value `absent`. */
export function oneOf<const Word extends string, const Absent extends Word | undefined = undefined>(
  words: readonly Word[],
  absent?: Absent,
): Parameter<Word | Absent> {
  return text => words.find(word => word === text) ?? (absent as Absent)
}

/** Reads the search parameters of a page from the texts in the URL. */
export function readSearch<Page extends PageSearch>(
  page: Page,
  texts: Partial<Record<string, string>>,
): { [Name in keyof Page]: ReturnType<Page[Name]> } {
  return Object.fromEntries(Object.entries(page).map(([name, read]) => [name, read(texts[name])])) as never
}

/**
 * The search parameters of the page, and a function that changes some of them in the URL. A parameter that is empty or has the value of an
 * absent one is removed. The function does nothing once the path has changed: filters call it after a typing pause, and a late call must
 * not lead back to a page that the user has left.
 */
export function usePageSearch<Page extends PageSearch>(page: Page) {
  const router = useRouter()
  const path = useMatch({ strict: false, select: match => match.pathname })
  const texts: Partial<Record<string, string>> = useSearch({ strict: false })
  const search = readSearch(page, texts)
  const change = (next: { [Name in keyof Page]?: string | undefined }) => {
    if (withoutEndSlash(router.latestLocation.pathname) !== withoutEndSlash(path)) return
    const kept = Object.entries({ ...router.latestLocation.search, ...next }).filter(
      ([name, value]) => value && value !== page[name]?.(undefined),
    )
    void router.navigate({ to: '.', search: Object.fromEntries(kept), replace: true, resetScroll: false })
  }
  const unknown = Object.keys(page).filter(
    name => texts[name] !== undefined && search[name as keyof Page] !== texts[name],
  )
  useEffect(() => {
    if (unknown.length > 0)
      change(Object.fromEntries(unknown.map(name => [name, undefined])) as typeof search)
  })
  return [search, change] as const
}

const withoutEndSlash = (path: string) => path.replace(/\/$/, '')
