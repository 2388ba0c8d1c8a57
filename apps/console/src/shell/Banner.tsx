import { type ComponentType, lazy, Suspense } from 'react'
import { useConfig } from '../api/config.ts'
import { log } from '../lib/log.ts'

// The sanitiser is loaded only where there is a banner; every page works without it.
const BannerText = lazy(async (): Promise<{ default: ComponentType<{ html: string }> }> => {
  try {
    return { default: (await import('./BannerText.tsx')).BannerText }
  } catch (error) {
    log.warn('No banner', error)
    return { default: () => null }
  }
})

/** The operator's announcement above everything. */
export function Banner() {
  const text = useConfig().banner?.text
  if (!text) return null
  return (
    <Suspense>
      <BannerText html={text} />
    </Suspense>
  )
}
