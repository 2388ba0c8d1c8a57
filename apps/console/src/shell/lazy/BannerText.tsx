import { BANNER_TAGS } from '@muster/actions/client'
import DOMPurify from 'dompurify'
import { Info } from 'lucide-react'
import { useEffect, useMemo } from 'react'
import { log } from '../../lib/log.ts'

const ALLOWED = { ALLOWED_TAGS: [...BANNER_TAGS], ALLOWED_ATTR: ['href'] }

/** The operator's announcement at the top of every page. Its HTML is sanitized to inline markup and links. */
export function BannerText({ html }: { html: string }) {
  const { text, removed } = useMemo(() => sanitized(html), [html])
  useEffect(() => {
    if (removed.length > 0)
      log.warn(`The banner holds <${removed.join('>, <')}>; shown are <${BANNER_TAGS.join('>, <')}> only`)
  }, [removed])
  return (
    <section className="banner" aria-label="Announcement">
      <Info className="icon" aria-hidden />
      {/* biome-ignore lint/security/noDangerouslySetInnerHtml: sanitized to an allow-list of inline markup */}
      <span dangerouslySetInnerHTML={{ __html: text }} />
    </section>
  )
}

function sanitized(html: string): { text: string; removed: string[] } {
  const text = DOMPurify.sanitize(html, ALLOWED)
  const elements = DOMPurify.removed.flatMap(one =>
    'element' in one && one.element instanceof Element ? one.element.nodeName.toLowerCase() : [],
  )
  return { text, removed: [...new Set(elements)] }
}
