import { Link } from '@tanstack/react-router'
import { useActionPages } from '../../api/queries.ts'
import { formatBytes, formatCount } from '../../lib/app/format.ts'
import { anyText, oneOf, usePageSearch } from '../../lib/app/search.ts'
import { organizationParam } from '../../organization.ts'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { NoMatch } from '../../ui/app/NoMatch.tsx'
import { Cell, type Column, Row, Table } from '../../ui/lazy/Table.tsx'
import { AdminCrumb } from './AdminCrumb.tsx'

const PAGE_SIZE = 100
const COLUMNS: readonly Column[] = [
  { name: 'Name', kind: 'title', sort: 'name' },
  { name: 'Id' },
  { name: 'Organization', sort: 'organization' },
  { name: 'Devices', sort: 'devices' },
  { name: 'Stored data', sort: 'stored' },
]

/** Search parameters of the list of all projects. */
export const allProjectsSearch = {
  q: anyText,
  sort: oneOf(
    ['name', '-name', 'organization', '-organization', 'devices', '-devices', 'stored', '-stored'],
    '-devices',
  ),
}

/** Projects of all organizations, by default sorted by their number of devices, largest first. */
export function AllProjectsPage() {
  const [{ q, sort }, change] = usePageSearch(allProjectsSearch)
  const text = q?.trim()
  const list = useActionPages('instance_QueryProjects', {
    limit: PAGE_SIZE,
    sort,
    ...(text && { filter: { text } }),
  })
  const projects = list.data?.pages.flatMap(page => page.projects)
  return (
    <ListPage
      crumb={<AdminCrumb here="Projects" />}
      title="Projects"
      what="projects"
      list={list}
      shown={projects?.length}
    >
      <div className="tools">
        <FilterBox
          value={q ?? ''}
          onChange={value => change({ q: value })}
          label="Filter projects"
          placeholder="Filter by name or id"
        />
      </div>
      <Table
        caption="Projects of all organizations"
        columns={COLUMNS}
        sort={sort}
        onSort={next => change({ sort: next })}
        dense
        rows={projects?.map(project => (
          <Row key={project.projectId}>
            <Cell>
              <Link
                to="/org_{$organization}/projects/$projectId/devices"
                params={{
                  organization: organizationParam(project.organizationId),
                  projectId: project.projectId,
                }}
                className="name"
              >
                {project.name}
              </Link>
            </Cell>
            <Cell>
              <Id id={project.projectId} what="project id" />
            </Cell>
            <Cell>{project.organizationName}</Cell>
            <Cell>
              <span className="tabular">{formatCount(project.deviceCount)}</span>
            </Cell>
            <Cell>
              <span className="tabular">
                {project.storedBytes === undefined ? (
                  <>
                    –<span className="visually-hidden"> not measured yet</span>
                  </>
                ) : (
                  formatBytes(project.storedBytes)
                )}
              </span>
            </Cell>
          </Row>
        ))}
        none={<NoMatch what="projects" onClear={() => change({ q: '' })} />}
      />
    </ListPage>
  )
}
