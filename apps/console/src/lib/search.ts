/** Search parameters without the empty ones, as they stand in an address. */
export function withoutEmpty<Search extends object>(
  search: Partial<Record<keyof Search, string | undefined>>,
): Search {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value)) as Search
}
