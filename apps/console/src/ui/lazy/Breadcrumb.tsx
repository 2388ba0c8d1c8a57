import { ChevronRight } from 'lucide-react'
import { Fragment, type ReactNode } from 'react'
import styles from './Breadcrumb.module.css'

type BreadcrumbProps = {
  links: readonly ReactNode[]
  /** Name of the current page; `undefined` while it loads. */
  here: string | undefined
}

/** Links to the parent pages, then the name of the current page. */
export function Breadcrumb({ links, here }: BreadcrumbProps) {
  return (
    <nav className={`touch-area muted ${styles.breadcrumb}`} aria-label="Breadcrumb">
      <ol className="row">
        {links.map((link, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a crumb has no identity but its position
          <Fragment key={index}>
            <li className="truncated">{link}</li>
            <li aria-hidden="true">
              <ChevronRight className="icon small-icon" aria-hidden />
            </li>
          </Fragment>
        ))}
        <li className="truncated" aria-current="page">
          {here ?? '…'}
        </li>
      </ol>
    </nav>
  )
}
