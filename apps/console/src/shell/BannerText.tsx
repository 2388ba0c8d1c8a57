import DOMPurify from 'dompurify'
import { Info } from 'lucide-react'

const ALLOWED = { ALLOWED_TAGS: ['a', 'b', 'strong', 'em', 'code', 'br'], ALLOWED_ATTR: ['href'] }

/** The announcement's HTML, reduced to inline markup and links. */
export function BannerText({ html }: { html: string }) {
  return (
    <section className="banner" aria-label="Announcement">
      <Info className="i" aria-hidden />
      {/* biome-ignore lint/security/noDangerouslySetInnerHtml: sanitised to an allow-list of inline markup */}
      <span dangerouslySetInnerHTML={{ __html: DOMPurify.sanitize(html, ALLOWED) }} />
    </section>
  )
}
