// The script of the offline page. It runs without the console and without the hub.
import { knownCounts } from './known-counts.ts'

/** Delays, in milliseconds, between attempts to reach the hub. The last delay repeats. */
const AGAIN_MS = [2_000, 5_000, 10_000]
const PROBE_MS = 3_000
const TICKS = 60
/** Indexes of short ticks in the page's picture, a strip of `TICKS` ticks. The console draws one tick a device, short if disconnected. */
const SHORT = [9, 30, 45]
/** Counts that are older than the newest counts by more than this, in milliseconds, are shown with their own time. */
const SAME_TIME_MS = 10 * 60_000

let attempts = 0
let nextAtMs = 0
let isTrying = false

const at = (id: string) => document.getElementById(id)!

function element(name: string, text: string, className = ''): HTMLElement {
  const made = document.createElement(name)
  made.textContent = text
  if (className) made.className = className
  return made
}

/** A time in words: "14:29 today", or "Sunday 22 November, 14:29". */
function timeOf(ms: number): string {
  const date = new Date(ms)
  const time = date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  if (date.toDateString() === new Date().toDateString()) return `${time} today`
  return `${date.toLocaleDateString('en-GB', { weekday: 'long', day: 'numeric', month: 'long' })}, ${time}`
}

const darkness = matchMedia('(prefers-color-scheme: dark)')

function showTheme() {
  let chosen: string | null = null
  try {
    chosen = localStorage.getItem('muster.theme')
  } catch {
    // Storage is forbidden: the theme of the system applies.
  }
  const system = darkness.matches ? 'dark' : 'light'
  document.documentElement.dataset.theme = chosen === 'light' || chosen === 'dark' ? chosen : system
}

function showStrip() {
  for (let tick = 0; tick < TICKS; tick++) {
    const mark = element('i', '')
    mark.toggleAttribute('data-off', SHORT.includes(tick))
    at('strip').append(mark)
  }
}

function showCounts(newestMs: number) {
  const counts = knownCounts()
  at('known').hidden = counts.length === 0
  at('known-title').textContent = `Last known, ${timeOf(newestMs)}`
  const grouped = new Intl.NumberFormat('en')
  at('known')
    .querySelector('ul')!
    .replaceChildren(
      ...counts.map(({ path, name, connected, total, atMs }) => {
        const row = document.createElement('li')
        const link = element('a', name) as HTMLAnchorElement
        link.href = path
        const when = newestMs - atMs > SAME_TIME_MS ? `, ${timeOf(atMs)}` : ''
        row.append(
          link,
          element('span', `${grouped.format(connected)} of ${grouped.format(total)} connected${when}`),
        )
        return row
      }),
    )
}

/** Shows why the page could not load: the proxy has reported an error, the hub does not answer, or the device has no network. */
function showReason(proxyStatus: number | undefined, newestMs: number) {
  const last = newestMs > 0 ? ` It last did at ${timeOf(newestMs)}.` : ''
  const words: (string | Node)[] = proxyStatus
    ? [`The hub could not be reached through its proxy (${proxyStatus}).`]
    : navigator.onLine
      ? [
          'This device has a network, but ',
          element('span', location.host, 'mono'),
          ` does not answer.${last}`,
        ]
      : ['This device has no network.']
  const reason = document.createElement('span')
  reason.append(...words)
  // The sentence is replaced only when it has changed, because a screen reader reads each replacement.
  if (at('why').textContent !== reason.textContent) at('why').replaceChildren(...reason.childNodes)
}

/** Asks whether the hub answers. Resolves to `undefined` if it does, else to an object with the status of a proxy's error, if any. */
async function probe(): Promise<{ proxyStatus?: number } | undefined> {
  try {
    const { status } = await fetch('/api/config.json', {
      cache: 'no-store',
      signal: AbortSignal.timeout(PROBE_MS),
    })
    return status >= 502 && status <= 504 ? { proxyStatus: status } : undefined
  } catch {
    return {}
  }
}

async function tryAgain() {
  if (isTrying) return
  isTrying = true
  at('next').textContent = 'Trying…'
  const refusal = await probe()
  if (!refusal) {
    // The reload may fail again although the hub answers. The page then loads at most once in 2 s, and not in a fast loop.
    setTimeout(leave, Math.max(0, AGAIN_MS[0]! - performance.now()))
    return
  }
  isTrying = false
  showReason(refusal.proxyStatus, newestMs())
  nextAtMs = Date.now() + AGAIN_MS[Math.min(attempts++, AGAIN_MS.length - 1)]!
}

/** Reloads the page that failed to load. If the user has opened `/offline.html` itself, opens the console's start page. */
function leave() {
  if (location.pathname === '/offline.html') location.replace('/')
  else location.reload()
}

function newestMs(): number {
  return Math.max(0, ...knownCounts().map(({ atMs }) => atMs))
}

function tick() {
  if (isTrying) return
  const leftMs = nextAtMs - Date.now()
  if (leftMs <= 0) void tryAgain()
  else at('next').textContent = `Next try in ${Math.ceil(leftMs / 1000)} s`
}

showTheme()
darkness.addEventListener('change', showTheme)
showStrip()
at('host').textContent = location.host
showCounts(newestMs())
showReason(undefined, newestMs())
at('again').addEventListener('click', () => void tryAgain())
// Another tab may have stored newer counts, or removed the counts at the end of the session.
addEventListener('storage', () => showCounts(newestMs()))
addEventListener('online', () => void tryAgain())
document.addEventListener('visibilitychange', () => document.hidden || void tryAgain())
void tryAgain()
setInterval(tick, 500)
