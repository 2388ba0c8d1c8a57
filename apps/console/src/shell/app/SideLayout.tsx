import { Link, useLocation } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { type ReactNode, useEffect, useRef } from 'react'
import { centreIn } from '../../lib/app/centre-in.ts'
import { formatCount } from '../../lib/app/format.ts'
import { useIsNarrow } from '../../lib/app/use-is-narrow.ts'
import { CutMiddle } from '../../ui/app/CutMiddle.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { Main } from '../../ui/Main.tsx'
import { TitleScope } from '../../ui/Title.tsx'
import type { PageLink } from './pages.ts'
import styles from './SideLayout.module.css'

type SideLink = PageLink & {
  /** Number of entries on the page. While it is unknown, its room is kept. */
  count?: number | undefined
  isCounted?: boolean
}

type SideLayoutProps = {
  back?: { to: string; label: string }
  /** Name of the entity that the pages belong to; `undefined` while it loads. */
  name: string | undefined
  /** Id of the entity, and its name in the label of the copy button, for example "project id". */
  id?: { id: string; what: string }
  /** Label of the navigation for screen readers. */
  label: string
  links: SideLink[]
  /** Whether the current page has a head of its own. On phones, the sidebar is then hidden. */
  hasOwnHead?: boolean
  children: ReactNode
}

/** A sidebar with the entity's name and links to its pages. On phones the links are a row of tabs. */
export function SideLayout({ back, name, id, label, links, hasOwnHead = false, children }: SideLayoutProps) {
  const isNarrow = useIsNarrow()
  const nav = useCurrentInView(name !== undefined, isNarrow)
  return (
    <TitleScope name={name ?? id?.id}>
      <div className={styles.body} data-own-head={hasOwnHead || undefined}>
        <aside className={styles.side}>
          {back && (
            <Link className={styles.back} to={back.to} activeOptions={{ exact: true }}>
              <ArrowLeft className="icon small-icon" aria-hidden />
              {back.label}
            </Link>
          )}
          <div className={styles.entity}>
            {/* A second line of a phone would move the page when the name arrives. */}
            <b>
              {name === undefined ? (
                <span className="skeleton" />
              ) : isNarrow ? (
                <CutMiddle text={name} />
              ) : (
                name
              )}
            </b>
            {id && <Id id={id.id} what={id.what} whole />}
          </div>
          <nav ref={nav} aria-label={label}>
            <ul>
              {links.map(link => (
                <SideItem key={link.to} {...link} />
              ))}
            </ul>
          </nav>
        </aside>
        <Main>{children}</Main>
      </div>
    </TitleScope>
  )
}

/** Scrolls the link of the current page into view on phones, where the navigation is a scrolling row. */
function useCurrentInView(isLoaded: boolean, isNarrow: boolean) {
  const ref = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  // biome-ignore lint/correctness/useExhaustiveDependencies: links move when the path, the layout or the loaded counts change
  useEffect(() => {
    const nav = ref.current
    const link = nav?.querySelector<HTMLElement>('[aria-current]')
    if (nav && link) centreIn(nav, link)
  }, [pathname, isLoaded, isNarrow])
  return ref
}

function SideItem({ to, icon: Icon, label, count, isCounted = false }: SideLink) {
  return (
    <li>
      <Link to={to}>
        <Icon className="icon" aria-hidden />
        {label}
        {(isCounted || count !== undefined) && (
          <span className={styles.count} aria-hidden="true">
            {count !== undefined && formatCount(count)}
          </span>
        )}
      </Link>
    </li>
  )
}
