import { useEffect, useState } from 'react'
import { formatDuration } from '../../lib/app/format.ts'
import { useKnownNow } from '../../lib/app/known-now.ts'

/**
 * A duration that advances every second between two answers of the hub. `secs` is the duration at `answeredAt` (milliseconds since 1970).
 * It stops advancing while the hub cannot be reached.
 */
export function Elapsed({ secs, answeredAt }: { secs: number; answeredAt: number }) {
  const [now, setNow] = useState(answeredAt)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const knownMs = useKnownNow(now)
  return formatDuration(secs + Math.max(0, knownMs - answeredAt) / 1000)
}
