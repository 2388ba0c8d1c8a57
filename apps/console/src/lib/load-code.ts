import { ActionError } from '@muster/actions/client'
import { lazyRouteComponent } from '@tanstack/react-router'

/**
 * Lazy route component. While the hub is unreachable, loading rejects with an `ActionError`, like every other request to the
 * hub. If the hub answers but lacks the file, because the hub has been updated, the router reloads the document.
 */
export const lazyPage: typeof lazyRouteComponent = (importer, name) =>
  lazyRouteComponent(() => loadCode(importer), name)

/**
 * Imports a module of the console. Rejects with an `ActionError` if the hub is unreachable, else with the error of the
 * import.
 */
export async function loadCode<T>(importer: () => Promise<T>): Promise<T> {
  try {
    return await importer()
  } catch (cause) {
    if (await isHubThere()) throw missingStyles(cause) ?? cause
    throw new ActionError('Internal', 'The hub could not be reached.', { status: 0, cause })
  }
}

/**
 * The error of a script that the hub lacks, for a sheet that it lacks. The router reloads the document after the first only, and a newer hub has
 * neither.
 */
function missingStyles(cause: unknown): Error | undefined {
  const { message } = cause as Partial<Error>
  if (!message?.startsWith('Unable to preload CSS')) return undefined
  return new Error(`Failed to fetch dynamically imported module: ${message}`, { cause })
}

async function isHubThere(): Promise<boolean> {
  try {
    return (await fetch('/api/config.json', { cache: 'no-store' })).ok
  } catch {
    return false
  }
}
