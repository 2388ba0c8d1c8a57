import { Link } from '@tanstack/react-router'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { organizationParam } from '../../../organization.ts'
import { Section } from '../../../ui/app/Section.tsx'
import { Cell, Row, Table } from '../../../ui/app/Table.tsx'
import { CountLink } from '../../software/CountLink.tsx'
import { reporting } from '../../software/reporting.ts'
import { type Relation, reportCountOf, type Usage } from './usage.ts'

/** Columns after "Run it", with the words after a number for screen readers. */
const COLUMNS: readonly { relation: Relation; label: string; words: string }[] = [
  { relation: 'installs', label: 'Installing', words: 'installing' },
  { relation: 'fails', label: 'Failed', words: 'failed' },
  { relation: 'others', label: 'Other versions', words: 'on other versions' },
  { relation: 'unknown', label: 'Unknown version', words: 'unknown' },
]

/** Devices by project. Projects that the person cannot see are neither listed nor counted. */
export function ProjectTable({ usage, packageName }: { usage: Usage; packageName: string }) {
  const { projects, projectCount, versionId } = usage
  return (
    <Section title="Projects" padded={false}>
      <div className="nums">
        <Table caption="Devices by project" head={HEAD} rowsOnPhones bare>
          {projects.map(({ counts, ...project }) => {
            const number = (relation: Relation, words: string) => (
              <CountLink
                count={counts?.[relation] ?? 0}
                words={`${words} in ${project.name}`}
                projects={[{ ...project, count: counts?.[relation] ?? 0 }]}
                condition={{ versionId, is: relation }}
              />
            )
            return (
              <Row key={project.projectId}>
                <Cell>
                  <Link
                    to="/org_{$organization}/projects/$projectId/software"
                    params={{
                      organization: organizationParam(project.organizationId),
                      projectId: project.projectId,
                    }}
                    className="nm lines"
                  >
                    {project.name}
                  </Link>
                </Cell>
                <Cell label="Run it">
                  <span>
                    {number('runs', 'run it')}{' '}
                    <span
                      className="muted"
                      title={reporting(counts ? reportCountOf(counts) : 0, packageName)}
                    >
                      of {formatCount(counts ? reportCountOf(counts) : 0)} that report it
                    </span>
                  </span>
                </Cell>
                {COLUMNS.map(({ relation, label, words }) => (
                  <Cell key={relation} label={label}>
                    {number(relation, words)}
                  </Cell>
                ))}
              </Row>
            )
          })}
        </Table>
      </div>
      {projectCount > projects.length && (
        <div className="soft-note">
          The {counted(projects.length, 'project')} with the most devices, of {formatCount(projectCount)}.
        </div>
      )}
    </Section>
  )
}

const HEAD = (
  <tr>
    <th scope="col">Project</th>
    <th scope="col">Run it</th>
    {COLUMNS.map(({ relation, label }) => (
      <th key={relation} scope="col">
        {label}
      </th>
    ))}
  </tr>
)
