import { ActionError } from '@muster/actions/client'
import { lazyRouteComponent } from '@tanstack/react-router'

/**
 * A page whose code is loaded when it is needed. While the hub is away that fails like a request of the page would; only where a hub
 * is there that has other files does the router load the whole page anew.
 */
export const lazyPage: typeof lazyRouteComponent = (importer, name) =>
  lazyRouteComponent(() => loadCode(importer), name)

/** Code of the console; rejects with the reason for which it could not be loaded. */
export async function loadCode<T>(importer: () => Promise<T>): Promise<T> {
  try {
    return await importer()
  } catch (cause) {
    if (await isHubThere()) throw cause
    throw new ActionError('Internal', 'The hub could not be reached.', { status: 0, cause })
  }
}

async function isHubThere(): Promise<boolean> {
  try {
    return (await fetch('/api/config.json', { cache: 'no-store' })).ok
  } catch {
    return false
  }
}
