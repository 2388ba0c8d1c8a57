import styles from './SheetSkeleton.module.css'

type SheetSkeletonProps = {
  /** Height of the panel in pixels. */
  heightPx: number
  /** Title of the panel, if it is known. */
  title?: string
}

/** Placeholder of a panel. */
export function SheetSkeleton({ heightPx, title }: SheetSkeletonProps) {
  return (
    <div className="sheet section" style={{ height: heightPx, overflow: 'hidden' }}>
      <header>
        {title === undefined ? <span className={`skeleton ${styles.title}`} /> : <h2>{title}</h2>}
      </header>
      <div className="inset">
        <span className={`skeleton ${styles.line}`} />
        <span className={`skeleton ${styles.line}`} />
      </div>
    </div>
  )
}
