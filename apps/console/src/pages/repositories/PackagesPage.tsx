import type { ActionOutput } from '@muster/actions/client'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Package } from 'lucide-react'
import { usePublicUrl } from '../../api/config.ts'
import { useActionPages, useActionState } from '../../api/queries.ts'
import { counted, formatCount } from '../../lib/app/format.ts'
import { anyText, oneOf, usePageSearch } from '../../lib/app/search.ts'
import { Badge } from '../../ui/app/Badge.tsx'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { NoMatch } from '../../ui/app/NoMatch.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { ACTIONS, Cell, type Column, Row, Table } from '../../ui/lazy/Table.tsx'
import shared from '../software/shared/software.module.css'
import { TickRow } from '../software/shared/TickRow.tsx'
import { devicesPerTick, ticksOf } from '../software/shared/ticks.ts'
import { Commands } from './Commands.tsx'
import { createPackageCommand, createVersionCommand, logInCommand, uploadCommand } from './cli-commands.ts'
import styles from './PackagesPage.module.css'
import { LIST_PAGE_SIZE } from './page-size.ts'
import tagList from './TagList.module.css'

const FROM = '/org_{$organization}/repositories/$repositoryId/packages'

/** Search parameters of the list of packages. */
export const packagesSearch = { q: anyText, sort: oneOf(['name', '-name', 'latest', '-latest'], 'name') }

const route = getRouteApi('/authenticated/org_{$organization}/repositories/$repositoryId/packages')

/** The packages of a repository, sorted by name, and the CLI commands that manage packages. */
export function PackagesPage() {
  const { repositoryId } = route.useParams()
  const [{ q, sort }, change] = usePageSearch(packagesSearch)
  const publicUrl = usePublicUrl()
  const text = q?.trim()
  const repository = useActionState('repositories_GetDetails', { repositoryId }).data
  const list = useActionPages('repositories_QueryPackages', {
    repositoryId,
    limit: LIST_PAGE_SIZE,
    ...(text && { filter: { text } }),
    sort,
  })
  const packages = list.data?.pages.flatMap(page => page.packages)
  const usage = usePackageUsage(repositoryId, packages !== undefined && packages.length > 0)
  const isEmpty = packages?.length === 0 && !text && !list.isPlaceholderData
  const path = repository?.publicName ?? repositoryId
  return (
    <ListPage
      title="Packages"
      what="packages"
      list={list}
      shown={packages?.length}
      below={
        usage.projectCount !== undefined && (
          <div className="list-foot">
            <span>Devices of {counted(usage.projectCount, 'project')} that you may see</span>
          </div>
        )
      }
    >
      <Commands
        title="Packages can currently only be managed through the command-line tool."
        open={isEmpty}
        commands={[
          logInCommand(publicUrl),
          createPackageCommand(path),
          createVersionCommand(path),
          uploadCommand(path),
        ]}
      />
      {isEmpty ? (
        <EmptyState icon={Package} title="No packages yet.">
          Create the first one with the commands above.
        </EmptyState>
      ) : (
        <>
          <div className="tools">
            <FilterBox
              value={q ?? ''}
              onChange={value => change({ q: value })}
              label="Filter packages"
              placeholder="Filter by name or id"
            />
          </div>
          <Table
            caption="Packages"
            columns={COLUMNS}
            sort={sort}
            onSort={next => change({ sort: next })}
            rows={packages?.map(one => <PackageRow key={one.packageId} of={one} usage={usage} />)}
            none={<NoMatch what="packages" onClear={() => change({ q: '' })} />}
          />
        </>
      )}
    </ListPage>
  )
}

const COLUMNS: readonly Column[] = [
  { name: 'Name', kind: 'title', sort: 'name' },
  { name: 'Latest version' },
  { name: 'Its tags' },
  { name: 'Created', sort: 'latest' },
  { name: 'Devices', head: 'Devices that run it' },
  ACTIONS,
]

type ListedPackage = ActionOutput<'repositories_QueryPackages'>['packages'][number]
type PackageUsage = ActionOutput<'repositories_QueryPackageUsage'>['packages'][number]

type UsageState = {
  byId: ReadonlyMap<string, PackageUsage>
  projectCount: number | undefined
  /** Text for a package without numbers: still counting, not counted, or no devices. */
  instead: string
}

/** Device counts of the packages. They are requested after the rows have loaded, because counting may take 2 s. */
function usePackageUsage(repositoryId: string, isListed: boolean): UsageState {
  const { data, error } = useActionState(
    'repositories_QueryPackageUsage',
    { repositoryId },
    { enabled: isListed },
  )
  const byId = new Map(data?.packages.map(one => [one.packageId, one]))
  const { projectCount } = data ?? {}
  if (error && !data) return { byId, projectCount, instead: '– not counted' }
  if (!data) return { byId, projectCount, instead: 'Counting…' }
  if (data.tookTooLong) return { byId, projectCount, instead: '– not counted within 2 s' }
  return { byId, projectCount, instead: data.otherPackages > 0 ? '–' : 'no device reports it' }
}

function PackageRow({ of, usage }: { of: ListedPackage; usage: UsageState }) {
  const { packageId, name, createdAt, latest, stable } = of
  return (
    <Row>
      <Cell>
        <Link from={FROM} to="./$packageId" params={{ packageId }} className="name lines">
          {name}
        </Link>
      </Cell>
      <Cell>
        {latest ? (
          <Link
            from={FROM}
            to="./$packageId/versions/$versionId"
            params={{ packageId, versionId: latest.versionId }}
            className={shared.version}
          >
            {latest.name}
          </Link>
        ) : (
          <span className="muted">none yet</span>
        )}
      </Cell>
      <Cell>
        {latest && (
          <div className="stack tight">
            {latest.tags.length > 0 ? (
              <span className={`wrap ${tagList.tags}`}>
                {latest.tags.slice(0, MAX_TAGS).map(tag => (
                  <Badge key={tag}>{tag}</Badge>
                ))}
              </span>
            ) : (
              <span className="muted">none yet</span>
            )}
            {stable && stable.versionId !== latest.versionId && (
              <span className={`tiny muted ${shared.subline}`}>stable is on {stable.name}</span>
            )}
          </div>
        )}
      </Cell>
      <Cell>
        <Time at={latest?.createdAt ?? createdAt} />
      </Cell>
      <Cell>
        <Share usage={usage.byId.get(packageId)} instead={usage.instead} />
      </Cell>
      <Cell>
        <LinkButton from={FROM} to="./$packageId" params={{ packageId }} variant="ghost" size="sm">
          View<span className="visually-hidden"> {name}</span>
        </LinkButton>
      </Cell>
    </Row>
  )
}

/** Maximum number of ticks in the row of a package. */
const MAX_TICKS = 40
/** Maximum number of tags in a row. */
const MAX_TAGS = 4

function Share({ usage, instead }: { usage: PackageUsage | undefined; instead: string }) {
  if (!usage) return <span className="muted">{instead}</span>
  const { deviceCount, latest } = usage
  if (!latest) return <span className="muted">{counted(deviceCount, 'device')}</span>
  const perTick = devicesPerTick(deviceCount, 3, MAX_TICKS)
  const others = Math.max(0, deviceCount - latest.runs - latest.fails)
  return (
    <span className={styles.share}>
      <TickRow
        parts={[
          { state: 'runs', ticks: ticksOf(latest.runs, perTick) },
          { state: 'fails', ticks: ticksOf(latest.fails, perTick) },
          { state: 'others', ticks: ticksOf(others, perTick) },
        ]}
      />
      <span>
        {formatCount(latest.runs)} <span className="muted">of {formatCount(deviceCount)} that report it</span>
      </span>
    </span>
  )
}
