import { lazy, Suspense } from 'react'
import { useConfig } from '../api/config.ts'

// The sanitiser is loaded only where there is a banner.
const BannerText = lazy(async () => ({ default: (await import('./BannerText.tsx')).BannerText }))

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
