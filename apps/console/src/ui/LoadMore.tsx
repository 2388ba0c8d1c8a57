import { Button } from './Button.tsx'

type LoadMoreProps = {
  shown: number
  total: number | undefined
  /** Plural of the things, for example "projects". */
  what: string
  busy: boolean
  onClick: () => void
}

/** The foot of a list that has more pages. */
export function LoadMore({ shown, total, what, busy, onClick }: LoadMoreProps) {
  return (
    <div className="tfoot">
      <span>
        {shown.toLocaleString('en')}
        {total !== undefined && ` of ${total.toLocaleString('en')}`} {what}
      </span>
      <Button busy={busy} busyLabel="Loading…" onClick={onClick}>
        Load more
      </Button>
    </div>
  )
}
