import { useMatch, useRouter } from '@tanstack/react-router'

/**
 * Returns a function that changes search parameters in the URL and removes empty ones. The function does nothing once
 * the path has changed: filters call it after a typing pause, and a late call must not lead back to a page that the user
 * has left.
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
