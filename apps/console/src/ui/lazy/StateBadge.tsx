import { CircleQuestionMark } from 'lucide-react'
import { lookUp } from '../../lib/app/look-up.ts'
import { Badge, type Tone } from '../app/Badge.tsx'
import type { IconType } from '../icon.ts'

/** Tone and icon of one state. */
export type StateLook = { tone: Tone; icon: IconType }

const UNKNOWN: StateLook = { tone: 'neutral', icon: CircleQuestionMark }

type StateBadgeProps = { looks: Readonly<Record<string, StateLook>>; state: string }

/** A state that the hub reports, as a badge. A state that `looks` lacks is shown unchanged, in the neutral colour. */
export function StateBadge({ looks, state }: StateBadgeProps) {
  const { tone, icon } = lookUp(looks, state, UNKNOWN)
  return (
    <Badge tone={tone} icon={icon}>
      {state}
    </Badge>
  )
}
