import { Ban, Clock } from 'lucide-react'
import { useNow } from '../../../lib/app/clock.ts'
import { dateAndMinute } from '../../../lib/app/local-time.ts'
import { relativeTime } from '../../../lib/app/relative-time.ts'
import { Badge } from '../../../ui/app/Badge.tsx'

/** Time before the expiry from which the row warns, in milliseconds: 7 days. */
const SOON_MS = 7 * 86_400_000

/** Time at which a token stops admitting new devices: a warning during the last 7 days, "Expired" afterwards. */
export function ExpiryCell({ expiresAt }: { expiresAt: string | undefined }) {
  const nowMs = useNow()
  if (expiresAt === undefined) return <span className="muted">Never</span>
  const atMs = Date.parse(expiresAt)
  const isOver = atMs <= nowMs
  const words = relativeTime(atMs, nowMs)
  return (
    <div className="pair">
      {isOver ? (
        <Badge icon={Ban}>Expired</Badge>
      ) : atMs - nowMs < SOON_MS ? (
        <Badge tone="warn" icon={Clock}>
          {capitalized(words)}
        </Badge>
      ) : (
        <span>{capitalized(words)}</span>
      )}
      <time className="under" dateTime={expiresAt}>
        {dateAndMinute(atMs)}
      </time>
    </div>
  )
}

const capitalized = (words: string) => words.charAt(0).toUpperCase() + words.slice(1)
