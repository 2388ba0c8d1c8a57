import { useEffect, useState } from 'react'
import { formatDuration } from '../../lib/app/format.ts'

/** A duration that advances between the hub's answers. `secs` is the duration at `answeredAt` (milliseconds since 1970). */
export function Elapsed({ secs, answeredAt }: { secs: number; answeredAt: number }) {
  const [now, setNow] = useState(answeredAt)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return formatDuration(secs + Math.max(0, now - answeredAt) / 1000)
}
