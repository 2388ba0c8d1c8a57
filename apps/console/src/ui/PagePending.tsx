import { Skeleton } from './Skeleton.tsx'

/** Placeholder of a page while its code loads. */
export function PagePending() {
  return (
    <div className="page" aria-busy="true">
      <Skeleton label="Loading page" rows={6} />
    </div>
  )
}
