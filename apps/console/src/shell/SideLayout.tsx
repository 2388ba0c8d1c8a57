import { Link, useLocation } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { type ReactNode, useEffect, useRef } from 'react'
import { formatCount } from '../lib/format.ts'
import { Id } from '../ui/Id.tsx'
import { Main } from '../ui/Main.tsx'
import { TitleScope } from '../ui/Title.tsx'
import type { PageLink } from './pages.ts'

type SideLink = PageLink & { count?: number | undefined }

type SideLayoutProps = {
  back?: { to: string; label: string }
  /** What the pages belong to; nothing while it loads. */
  name: string | undefined
  /** Id of it, with the words that its copy button needs. */
  id?: { id: string; what: string }
  /** Name of the nav for screen readers. */
  label: string
  links: SideLink[]
  children: ReactNode
}

/** A sidebar with what the pages belong to and the links to them; tabs in a row on phones. */
export function SideLayout({ back, name, id, label, links, children }: SideLayoutProps) {
  const nav = useCurrentInView(name !== undefined)
  return (
    <TitleScope name={name ?? id?.id}>
      <div className="body">
        <aside className="side">
          {back && (
            <Link className="back" to={back.to} activeOptions={{ exact: true }}>
              <ArrowLeft className="i i-14" aria-hidden />
              {back.label}
            </Link>
          )}
          <div className="who">
            <b>{name ?? <span className="skel" />}</b>
            {id && <Id id={id.id} what={id.what} />}
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

/** On phones the nav is a row that scrolls: brings the current page's link into it. */
function useCurrentInView(isLoaded: boolean) {
  const ref = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the links move with the path and when counts come
  useEffect(() => {
    const nav = ref.current
    const link = nav?.querySelector<HTMLElement>('[aria-current]')
    if (nav && link) nav.scrollLeft = link.offsetLeft + link.offsetWidth / 2 - nav.clientWidth / 2
  }, [pathname, isLoaded])
  return ref
}

function SideItem({ to, icon: Icon, label, count }: SideLink) {
  return (
    <li>
      <Link to={to}>
        <Icon className="i" aria-hidden />
        {label}
        {count !== undefined && (
          <span className="n" aria-hidden="true">
            {formatCount(count)}
          </span>
        )}
      </Link>
    </li>
  )
}
