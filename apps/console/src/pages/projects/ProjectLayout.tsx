import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, Outlet, useLocation, useParams } from '@tanstack/react-router'
import { ArrowLeft, Cpu, KeyRound, Package, Settings, TextAlignStart } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { actionPagesQuery, useActionState } from '../../api/queries.ts'
import { Id } from '../../ui/Id.tsx'
import type { IconType } from '../../ui/icon.ts'
import { Main } from '../../ui/Main.tsx'
import { RouteError } from '../../ui/RouteError.tsx'
import { TitleScope } from '../../ui/Title.tsx'
import { tokensInput } from '../tokens/tokens-input.ts'

const FROM = '/authenticated/org_{$organization}/projects/$projectId'

/** Sidebar and content of one project. */
export function ProjectLayout() {
  const { organization, projectId } = useParams({ from: FROM })
  const { data, error, refetch } = useActionState('projects_GetDetails', { projectId })
  const name = data?.name
  const { tokenCount } = useCachedTokenCount(projectId)
  const nav = useCurrentInView(data !== undefined)
  const base = `/org_${organization}/projects/${projectId}`
  return (
    <TitleScope name={name ?? projectId}>
      <div className="body">
        <aside className="side">
          <Link
            className="back"
            to="/org_{$organization}/projects"
            params={{ organization }}
            activeOptions={{ exact: true }}
          >
            <ArrowLeft className="i i-14" aria-hidden />
            All Projects
          </Link>
          <div className="who">
            <b>{name ?? <span className="skel" />}</b>
            <Id id={projectId} what="project id" />
          </div>
          <nav ref={nav} aria-label="Project">
            <ul>
              <SideLink to={`${base}/devices`} icon={Cpu} label="Devices" count={data?.deviceCount} />
              <SideLink to={`${base}/tokens`} icon={KeyRound} label="Tokens" count={tokenCount} />
              <SideLink to={`${base}/log`} icon={TextAlignStart} label="Audit Log" />
              <SideLink to={`${base}/repositories`} icon={Package} label="Repositories" />
              <SideLink to={`${base}/settings`} icon={Settings} label="Settings" />
            </ul>
          </nav>
        </aside>
        <Main>{error && !data ? <RouteError error={error} reset={() => void refetch()} /> : <Outlet />}</Main>
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

/** The number of tokens if the token list was looked at; it is not worth a request of its own. */
function useCachedTokenCount(projectId: string) {
  const { data } = useInfiniteQuery({
    ...actionPagesQuery('projects_QueryDeploymentTokens', tokensInput(projectId)),
    enabled: false,
  })
  return { tokenCount: data?.pages[0]?.total }
}

type SideLinkProps = { to: string; icon: IconType; label: string; count?: number | undefined }

function SideLink({ to, icon: Icon, label, count }: SideLinkProps) {
  return (
    <li>
      <Link to={to}>
        <Icon className="i" aria-hidden />
        {label}
        {count !== undefined && (
          <span className="n" aria-hidden="true">
            {count.toLocaleString('en')}
          </span>
        )}
      </Link>
    </li>
  )
}
