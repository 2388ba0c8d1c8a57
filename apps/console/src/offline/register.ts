import { log } from '../lib/log.ts'

/** Installs the service worker, once the page has loaded. Browsers have service workers under HTTPS and on localhost only. */
export function registerServiceWorker() {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return
  const register = () => {
    navigator.serviceWorker
      .register('/sw.js', { updateViaCache: 'none' })
      .catch((error: unknown) => log.warn('The offline page is not installed', error))
  }
  if (document.readyState === 'complete') register()
  else addEventListener('load', register, { once: true })
}
