// The service worker of the console. When a page fails to load, it answers with the offline page, the only file that it stores.
// TypeScript's libraries for workers and for pages exclude each other, so this file declares the few worker types that it needs.

export {}

type WorkerEvent = Event & { waitUntil(work: Promise<unknown>): void }
type InstallEvent = WorkerEvent & { addRoutes?(routes: readonly object[]): Promise<void> }
type LoadEvent = WorkerEvent & { request: Request; respondWith(answer: Promise<Response>): void }
type Worker = {
  skipWaiting(): Promise<void>
  addEventListener(type: 'install', listener: (event: InstallEvent) => void): void
  addEventListener(type: 'activate', listener: (event: WorkerEvent) => void): void
  addEventListener(type: 'fetch', listener: (event: LoadEvent) => void): void
}

/** Hash of the offline page, from the build. */
declare const OFFLINE_VERSION: string

const CACHE = `muster-offline-${OFFLINE_VERSION}`
const PAGE = '/offline.html'
/** Time, in milliseconds, after which a page load without an answer counts as failed. The index page is a few kilobytes. */
const LOAD_WITHIN_MS = 15_000
/** Statuses with which a proxy says that the hub behind it does not answer. */
const UNREACHABLE = [502, 503, 504]

const worker = globalThis as unknown as Worker

worker.addEventListener('install', event => {
  event.waitUntil(store())
  // Requests other than page loads bypass the worker. Otherwise the browser would have to start the worker for each of them.
  const past = event.addRoutes?.([{ condition: { not: { requestMode: 'navigate' } }, source: 'network' }])
  past?.catch(() => {})
})

worker.addEventListener('activate', event => event.waitUntil(removeOlder()))

worker.addEventListener('fetch', event => {
  const { request } = event
  const { pathname } = new URL(request.url)
  // Addresses below `/api/` are downloads and pages of the API, not pages of the console.
  const isPage = request.mode === 'navigate' && request.method === 'GET' && !pathname.startsWith('/api/')
  if (isPage && pathname !== PAGE) event.respondWith(load(request))
})

async function store() {
  const cache = await caches.open(CACHE)
  await cache.add(new Request(PAGE, { cache: 'reload', credentials: 'omit' }))
  await worker.skipWaiting()
}

async function removeOlder() {
  for (const name of await caches.keys()) if (name !== CACHE) await caches.delete(name)
}

async function load(request: Request): Promise<Response> {
  const { promise: tooLate, reject } = Promise.withResolvers<Response>()
  const timer = setTimeout(() => reject(new Error('The hub did not answer.')), LOAD_WITHIN_MS)
  try {
    const response = await Promise.race([fetch(request), tooLate])
    return (UNREACHABLE.includes(response.status) && (await offlinePage())) || response
  } catch (error) {
    const page = await offlinePage()
    if (page) return page
    throw error
  } finally {
    clearTimeout(timer)
  }
}

async function offlinePage(): Promise<Response | undefined> {
  return (await caches.open(CACHE)).match(PAGE)
}
