import { Lock } from 'lucide-react'
import { useState } from 'react'
import { formatCount } from '../../lib/format.ts'
import { Badge } from '../../ui/Badge.tsx'
import { Button } from '../../ui/Button.tsx'

type TagListProps = {
  tags: readonly { tag: string; locked: boolean }[]
  /** Shows no more than these until asked for the rest. */
  most?: number
}

/** Tags of a version; locked ones look different and say so. */
export function TagList({ tags, most = Number.POSITIVE_INFINITY }: TagListProps) {
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? tags : tags.slice(0, most)
  const hidden = tags.length - shown.length
  return (
    <ul className="tags">
      {shown.map(({ tag, locked }) => (
        <li key={tag}>
          <Badge locked={locked} {...(locked && { icon: Lock })}>
            <span className="trunc">{tag}</span>
            {locked && <span className="sr"> locked</span>}
          </Badge>
        </li>
      ))}
      {hidden > 0 && (
        <li>
          <Button size="sm" variant="ghost" onClick={() => setWhole(true)}>
            <span aria-hidden="true">+{formatCount(hidden)}</span>
            <span className="sr">Show {formatCount(hidden)} more tags</span>
          </Button>
        </li>
      )}
    </ul>
  )
}
