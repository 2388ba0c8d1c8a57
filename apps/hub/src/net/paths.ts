/** The path of a request's URL, without its query. */
export function pathOf(url: string): string {
  return url.split('?', 1)[0]!
}

/** Whether a path is one of the health routes, which answer from the start and under every host. */
export function isHealthPath(path: string): boolean {
  return path === '/healthz' || path === '/readyz'
}
