import { useState } from 'react'
import { useNow } from '../../../lib/app/clock.ts'
import { useKnownNow } from '../../../lib/app/known-now.ts'
import { durationInWords } from '../../../lib/app/relative-time.ts'
import { Time } from '../../../ui/app/Time.tsx'
import type { DeviceRow } from './use-device-list.ts'

type LastSeenProps = Pick<
  DeviceRow,
  'isConnected' | 'lastSeenAt' | 'lastConnectedAt' | 'currentConnectionDurationSecs'
>

/** Duration of a device's connection, "for 2 h 11 min", or the time when the device was last seen. */
export function LastSeen({ currentConnectionDurationSecs: secs, ...device }: LastSeenProps) {
  if (device.isConnected)
    return secs === undefined ? <span className="muted">–</span> : <ConnectedFor secs={secs} />
  const at = device.lastSeenAt ?? device.lastConnectedAt
  return at === undefined ? <span className="muted">Never</span> : <Time at={at} />
}

/** The duration in the hub's answer plus the time since the answer, by the browser's clock alone, because the hub's clock may differ. */
function ConnectedFor({ secs }: { secs: number }) {
  const nowMs = useKnownNow(useNow())
  const [answer, setAnswer] = useState({ secs, atMs: nowMs })
  if (answer.secs !== secs) setAnswer({ secs, atMs: nowMs })
  const passedSecs = Math.max(0, nowMs - answer.atMs) / 1000
  return <span className="t2 num">for {durationInWords(secs + passedSecs)}</span>
}
