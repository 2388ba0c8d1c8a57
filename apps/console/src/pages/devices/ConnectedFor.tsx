import { useEffect, useState } from 'react'
import { formatDuration } from '../../lib/format.ts'

/** How long a connection has lasted, ticking between answers: `secs` are those of the answer that came at `answeredAt`. */
export function ConnectedFor({ secs, answeredAt }: { secs: number; answeredAt: number }) {
  const [now, setNow] = useState(answeredAt)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return formatDuration(secs + Math.max(0, now - answeredAt) / 1000)
}
