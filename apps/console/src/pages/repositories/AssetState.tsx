import type { ActionOutput } from '@muster/actions/client'
import { CircleAlert, Clock, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { lookUp } from '../../lib/app/look-up.ts'
import { Badge } from '../../ui/app/Badge.tsx'

type File = ActionOutput<'repositories_GetVersionDetails'>['assets'][number]

const STATUS: Record<File['status'], ReactNode> = {
  Available: null,
  Dangling: (
    <Badge tone="warn" icon={Clock}>
      Not uploaded
    </Badge>
  ),
  Deleting: <Badge icon={Trash2}>Deleting</Badge>,
}

const STORAGE: Record<NonNullable<File['storage']>['status'], ReactNode> = {
  Unknown: null,
  Present: null,
  Verified: null,
  Error: null,
  Missing: <StorageBadge word="Missing" />,
  Mismatched: <StorageBadge word="Mismatched" />,
}

/** A badge with the reason why a blob cannot be downloaded. Renders nothing if the blob can be downloaded. */
export function AssetState({ status, storage }: Pick<File, 'status' | 'storage'>) {
  const badge = lookUp(STATUS, status, <Badge>{status}</Badge>)
  if (badge || !storage) return badge
  return lookUp(STORAGE, storage.status, <Badge>{storage.status}</Badge>)
}

function StorageBadge({ word }: { word: string }) {
  return (
    <Badge tone="bad" icon={CircleAlert}>
      {word}
    </Badge>
  )
}
