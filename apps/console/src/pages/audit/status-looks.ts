import { CircleCheck, Clock, OctagonAlert, X } from 'lucide-react'
import type { StateLook } from '../../ui/lazy/StateBadge.tsx'

/** Tone and icon of each status of an action (docs/specification.md 4), in the order in which the filter offers them. */
export const STATUS_LOOKS = {
  Succeeded: { tone: 'ok', icon: CircleCheck },
  Failed: { tone: 'bad', icon: OctagonAlert },
  Rejected: { tone: 'bad', icon: X },
  Panicked: { tone: 'bad', icon: OctagonAlert },
  Pending: { tone: 'warn', icon: Clock },
} as const satisfies Record<string, StateLook>
