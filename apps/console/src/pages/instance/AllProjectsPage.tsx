import { Link } from '@tanstack/react-router'
import { useActionPages } from '../../api/queries.ts'
import { formatBytes, formatCount } from '../../lib/app/format.ts'
import { anyText, oneOf, usePageSearch } from '../../lib/app/search.ts'
import { organizationParam } from '../../organization.ts'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { Cell, Row, SortHead } from '../../ui/app/Table.tsx'
import { ListTable } from '../../ui/lazy/ListTable.tsx'
import { AdminCrumb } from './AdminCrumb.tsx'

const PAGE_SIZE = 100

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
  const sorted = { sort, onSort: (next: string) => change({ sort: next }) }
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
      <ListTable
        caption="Projects of all organizations"
        what="projects"
        columns={5}
        dense
        head={
          <tr>
            <SortHead field="name" {...sorted}>
              Name
            </SortHead>
            <th scope="col">Id</th>
            <SortHead field="organization" {...sorted}>
              Organization
            </SortHead>
            <SortHead field="devices" {...sorted}>
              Devices
            </SortHead>
            <SortHead field="stored" {...sorted}>
              Stored data
            </SortHead>
          </tr>
        }
        rows={projects?.map(project => (
          <Row key={project.projectId}>
            <Cell>
              <Link
                to="/org_{$organization}/projects/$projectId/devices"
                params={{
                  organization: organizationParam(project.organizationId),
                  projectId: project.projectId,
                }}
                className="nm"
              >
                {project.name}
              </Link>
            </Cell>
            <Cell label="Id">
              <Id id={project.projectId} what="project id" />
            </Cell>
            <Cell label="Organization">{project.organizationName}</Cell>
            <Cell label="Devices">
              <span className="num">{formatCount(project.deviceCount)}</span>
            </Cell>
            <Cell label="Stored data">
              <span className="num">
                {project.storedBytes === undefined ? (
                  <>
                    –<span className="sr"> not measured yet</span>
                  </>
                ) : (
                  formatBytes(project.storedBytes)
                )}
              </span>
            </Cell>
          </Row>
        ))}
        onClear={() => change({ q: '' })}
      />
    </ListPage>
  )
}
