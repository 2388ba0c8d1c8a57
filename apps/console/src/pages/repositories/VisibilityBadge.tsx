import type { ActionOutput } from '@muster/actions/client'
import { Eye, Lock } from 'lucide-react'
import { Badge } from '../../ui/app/Badge.tsx'

/** Visibility of a repository. */
export type Visibility = ActionOutput<'repositories_GetDetails'>['visibility']

/** Private or Public, with an icon. */
export function VisibilityBadge({ visibility }: { visibility: Visibility }) {
  return <Badge icon={visibility === 'Public' ? Eye : Lock}>{visibility}</Badge>
}
