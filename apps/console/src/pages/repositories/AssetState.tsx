import type { ActionOutput } from '@muster/actions/client'
import { CircleAlert, Clock, Trash2 } from 'lucide-react'
import { Badge } from '../../ui/Badge.tsx'

type File = ActionOutput<'repositories_GetVersionDetails'>['assets'][number]

/** What keeps a blob from being downloaded, as a badge; nothing when nothing does (catalogue 4.7). */
export function AssetState({ status, storage }: Pick<File, 'status' | 'storage'>) {
  if (status === 'Dangling')
    return (
      <Badge tone="warn" icon={Clock}>
        Not uploaded
      </Badge>
    )
  if (status === 'Deleting') return <Badge icon={Trash2}>Deleting</Badge>
  if (storage?.status !== 'Missing' && storage?.status !== 'Mismatched') return null
  return (
    <Badge tone="bad" icon={CircleAlert}>
      {storage.status}
    </Badge>
  )
}
