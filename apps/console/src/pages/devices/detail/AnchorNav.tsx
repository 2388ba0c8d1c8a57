import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { History, TextAlignStart } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useActionState } from '../../../api/queries.ts'
import { formatCount } from '../../../lib/app/format.ts'
import tabs from '../tab-row.module.css'
import styles from './AnchorNav.module.css'
import { propertiesQuery } from './device-queries.ts'

const SECTIONS = [
  { id: 'ov', label: 'Overview' },
  { id: 'ota', label: 'OTA Update Status' },
  { id: 'props', label: 'Properties' },
  { id: 'sys', label: 'System Info' },
  { id: 'certs', label: 'Certificates' },
  { id: 'conn', label: 'Connections' },
  { id: 'web', label: 'HTTP Proxy' },
  { id: 'dz', label: 'Danger Zone' },
] as const

type SectionId = (typeof SECTIONS)[number]['id']

/** Distance of a line from the top of the window, in pixels. The last section that begins above the line is the current section. */
const READING_LINE_PX = 140

/** Links to the sections of a device's page. The link of the current section is marked while the page scrolls. */
export function AnchorNav({ deviceId }: { deviceId: string }) {
  const properties = useQuery(propertiesQuery(deviceId)).data
  const details = useActionState('devices_GetDetails', { deviceId }).data
  const nav = useRef<HTMLElement>(null)
  const current = useSectionBeingRead()
  const counts: Partial<Record<SectionId, number>> = {
    ...(properties && { props: Object.keys(properties.properties).length }),
    ...(details && { certs: details.certificates.length }),
  }

  useEffect(keepLinkedInPlace, [])

  // On narrow screens the navigation itself scrolls, so the marked link is scrolled into view.
  useEffect(() => {
    const link = nav.current?.querySelector<HTMLElement>(`[href="#${current}"]`)
    if (link && nav.current) nav.current.scrollTo({ left: link.offsetLeft - nav.current.offsetLeft - 48 })
  }, [current])

  return (
    <nav ref={nav} className={`${tabs.row} ${styles.nav}`} aria-label="Sections">
      {SECTIONS.map(({ id, label }) => (
        <a key={id} href={`#${id}`} {...(id === current && { 'aria-current': 'location' })}>
          {label}
          {counts[id] !== undefined && (
            <span className="muted tabular" aria-hidden="true">
              {formatCount(counts[id])}
            </span>
          )}
        </a>
      ))}
      <Link
        className={styles.away}
        from="/org_{$organization}/projects/$projectId/devices/$deviceId"
        to="./timeline"
      >
        <History className="icon small-icon" aria-hidden />
        What happened
      </Link>
      <Link
        className={styles.away}
        from="/org_{$organization}/projects/$projectId/devices/$deviceId"
        to="./log"
      >
        <TextAlignStart className="icon small-icon" aria-hidden />
        Log
      </Link>
    </nav>
  )
}

/** Time for which the section in the URL's hash is kept in view while sections above it load, in milliseconds. */
const LOADING_MS = 5_000

/** Keeps the section in the URL's hash in view while sections above it load, until the user scrolls, clicks or types. */
function keepLinkedInPlace() {
  const linked = SECTIONS.find(({ id }) => `#${id}` === window.location.hash)
  const section = linked && document.getElementById(linked.id)
  if (!section) return
  const settle = new AbortController()
  const observer = new ResizeObserver(() => section.scrollIntoView())
  observer.observe(document.body)
  const stop = () => {
    observer.disconnect()
    settle.abort()
  }
  const timer = setTimeout(stop, LOADING_MS)
  for (const move of ['wheel', 'touchmove', 'keydown', 'pointerdown'])
    window.addEventListener(move, stop, { signal: settle.signal, passive: true })
  return () => {
    clearTimeout(timer)
    stop()
  }
}

function useSectionBeingRead(): SectionId {
  const [current, setCurrent] = useState<SectionId>('ov')
  useEffect(() => {
    let frame = 0
    function look() {
      frame = 0
      const { scrollHeight } = document.documentElement
      const isAtEnd = window.innerHeight + window.scrollY >= scrollHeight - 2
      const tops = SECTIONS.map(({ id }) => document.getElementById(id)?.getBoundingClientRect().top)
      const isReached = (top: number | undefined) => top !== undefined && top <= READING_LINE_PX
      const topOfReached = tops.findLast(isReached)
      // The last sections may be too short to reach `READING_LINE_PX`. At the end of the page one of these unreached
      // sections is current: the section in the URL's hash, or else the last section. Sections side by side are reached
      // together; the section in the hash is current, or else the first of them.
      const unreached = isAtEnd ? SECTIONS.filter((_, index) => !isReached(tops[index])) : []
      const reached = SECTIONS.filter(
        (_, index) => topOfReached !== undefined && tops[index] === topOfReached,
      )
      const asked = [...unreached, ...reached].find(({ id }) => `#${id}` === window.location.hash)
      const last = window.scrollY > 0 ? unreached.at(-1) : undefined
      setCurrent((asked ?? last ?? reached[0])?.id ?? 'ov')
    }
    function onScroll() {
      frame ||= requestAnimationFrame(look)
    }
    window.addEventListener('scroll', onScroll, { passive: true })
    // On a page too short to scroll, a click on a link changes the hash without a scroll event.
    window.addEventListener('hashchange', onScroll)
    return () => {
      window.removeEventListener('scroll', onScroll)
      window.removeEventListener('hashchange', onScroll)
      cancelAnimationFrame(frame)
    }
  }, [])
  return current
}
