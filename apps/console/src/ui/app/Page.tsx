import type { ReactNode } from 'react'
import { formatCount } from '../../lib/app/format.ts'
import { Title } from '../Title.tsx'
import styles from './Page.module.css'

type PageProps = {
  /**
   * Layout: `list` is wide, `detail` narrower, `settings` as wide as a form, and `grid` centred for pages without a
   * sidebar.
   */
  width?: 'detail' | 'list' | 'settings' | 'grid'
  children: ReactNode
}

/** The content of a page. */
export function Page({ width = 'detail', children }: PageProps) {
  return (
    <div className="page" data-width={width}>
      {children}
    </div>
  )
}

type PageHeadProps = {
  /** Title of the page; `undefined` while it loads. */
  title: string | undefined
  count?: number | undefined
  /** Whether the number beside the title is still to come. Its room is kept. */
  isCounting?: boolean
  /** Time of the last refresh, filter and buttons at the end of the line. */
  children?: ReactNode
}

/** The heading of a page, and its document title. A route change moves the focus to it. */
export function PageHead({ title, count, isCounting = false, children }: PageHeadProps) {
  return (
    <div className="page-head">
      {title !== undefined && <Title page={title} />}
      <h1 tabIndex={-1}>{title ?? <span className="skeleton" />}</h1>
      {count !== undefined && <span className={styles.count}>{formatCount(count)}</span>}
      {count === undefined && isCounting && <span className={styles.count} aria-hidden="true" />}
      <span className="grow" />
      {children}
    </div>
  )
}

/** A notice in the head of a page, for example of new rows, which floats below the list on small screens. */
export function HeadNotice({ children }: { children: ReactNode }) {
  return <div className={styles.notice}>{children}</div>
}

/** The heading of a part of a page. */
export function PartHead({ title, count }: { title: string; count?: number | undefined }) {
  return (
    <div className={styles.part}>
      <h2>{title}</h2>
      {count !== undefined && <span className={styles.count}>{formatCount(count)}</span>}
    </div>
  )
}
