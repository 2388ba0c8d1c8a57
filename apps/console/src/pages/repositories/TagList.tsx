import { Lock } from 'lucide-react'
import { useState } from 'react'
import { formatCount } from '../../lib/app/format.ts'
import { Badge } from '../../ui/app/Badge.tsx'
import { Button } from '../../ui/Button.tsx'
import styles from './TagList.module.css'

type TagListProps = {
  tags: readonly { tag: string; locked: boolean }[]
  /** Maximum number of tags to show; a button shows the rest. */
  most?: number
  /** Filter text. Tags that contain it come first, so that they are the last to be hidden. */
  match?: string | undefined
}

/** Tags of a version. Locked tags have a dashed outline and a label. */
export function TagList({ tags, most = Number.POSITIVE_INFINITY, match }: TagListProps) {
  const [isWhole, setWhole] = useState(false)
  const isMatch = ({ tag }: { tag: string }) =>
    Boolean(match) && tag.toLowerCase().includes(match!.toLowerCase())
  const ordered = [...tags.filter(isMatch), ...tags.filter(tag => !isMatch(tag))]
  const shown = isWhole ? ordered : ordered.slice(0, most)
  const hidden = tags.length - shown.length
  return (
    <ul className={`wrap ${styles.tags}`}>
      {shown.map(({ tag, locked }) => (
        <li key={tag}>
          <Badge locked={locked} {...(locked && { icon: Lock })}>
            <span className="truncated">{tag}</span>
            {locked && <span className="visually-hidden"> locked</span>}
          </Badge>
        </li>
      ))}
      {hidden > 0 && (
        <li>
          <Button size="sm" variant="ghost" onClick={() => setWhole(true)}>
            <span aria-hidden="true">+{formatCount(hidden)}</span>
            <span className="visually-hidden">Show {formatCount(hidden)} more tags</span>
          </Button>
        </li>
      )}
    </ul>
  )
}
