import { useMatch, useRouter } from '@tanstack/react-router'

/**
 * Gives a function that changes search parameters in the address of the page it is called on; empty ones leave the address.
 * Filters take effect after a pause: whoever has gone on to another page meanwhile is not called back.
 */
export function useChangeSearch<Search extends object>() {
  const router = useRouter()
  const page = useMatch({ strict: false, select: match => match.pathname })
  return (next: { [Name in keyof Search]?: string | undefined }) => {
    if (withoutEndSlash(router.latestLocation.pathname) !== withoutEndSlash(page)) return
    const search = Object.entries({ ...router.latestLocation.search, ...next }).filter(([, value]) => value)
    void router.navigate({
      to: '.',
      search: Object.fromEntries(search),
      replace: true,
      resetScroll: false,
    })
  }
}

const withoutEndSlash = (path: string) => path.replace(/\/$/, '')
