import { ChevronRight } from 'lucide-react'
import { Fragment, type ReactNode } from 'react'

/** Where a page stands: links to what is above it, then its own name. */
export function Breadcrumb({ links, here }: { links: readonly ReactNode[]; here: string }) {
  return (
    <nav className="crumb" aria-label="Breadcrumb">
      <ol>
        {links.map((link, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a crumb is its place
          <Fragment key={index}>
            <li>{link}</li>
            <li aria-hidden="true">
              <ChevronRight className="i i-14" aria-hidden />
            </li>
          </Fragment>
        ))}
        <li aria-current="page">{here}</li>
      </ol>
    </nav>
  )
}
