import { type ComponentType, lazy, Suspense } from 'react'
import { useConfig } from '../api/config.ts'
import { log } from '../lib/log.ts'

// The sanitizer is loaded only for instances with a banner. If loading fails, the page is shown without the banner.
const BannerText = lazy(async (): Promise<{ default: ComponentType<{ html: string }> }> => {
  try {
    return { default: (await import('./lazy/BannerText.tsx')).BannerText }
  } catch (error) {
    log.warn('No banner', error)
    return { default: () => null }
  }
})

/** The operator's announcement at the top of every page. */
export function Banner() {
  const text = useConfig().banner?.text
  if (!text) return null
  return (
    <Suspense fallback={<Room html={text} />}>
      <BannerText html={text} />
    </Suspense>
  )
}

/** An empty banner of the height of the text. It keeps the page from moving when the text appears, so that a click hits what it was aimed at. */
function Room({ html }: { html: string }) {
  return (
    <div className="banner" aria-hidden>
      <span className="i" />
      <span style={{ visibility: 'hidden' }}>{html.replace(/<[^>]*>/g, '')}</span>
    </div>
  )
}
