import type { ActionOutput } from '@muster/actions/client'
import { Eye, Lock } from 'lucide-react'
import { Badge } from '../../ui/app/Badge.tsx'

/** Visibility of a repository. */
export type Visibility = ActionOutput<'repositories_GetDetails'>['visibility']

/** A badge with an icon and the word Private or Public. */
export function VisibilityBadge({ visibility }: { visibility: Visibility }) {
  return <Badge icon={visibility === 'Public' ? Eye : Lock}>{visibility}</Badge>
}
